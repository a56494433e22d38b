#!/usr/bin/env bash
# sysroot.sh ARCHITECTURE FOLDER: headers and libraries of Debian 12 for another architecture (arm64),
# to compile for it: the packages of ./dev build are unpacked, none is set up, nothing in it runs. Apt
# works in a state folder of its own: this machine's packages stay as they are.
set -euo pipefail
readonly architecture=$1 folder=$2
packages=(
  libstdc++-12-dev libpython3.11-dev
  llvm-22-dev libmlir-22-dev mlir-22-tools # the tools are named by LLVM's CMake files, none is run
  zlib1g-dev libzstd-dev libeigen3-dev libgtest-dev libpng-dev
  libimgui-dev libglfw3-dev libgl-dev libegl-dev
)
stamp=$folder/stamp-$({ echo "$architecture" && cat "$0"; } | sha256sum | cut -c1-16)
[[ ! -e $stamp ]] || exit 0
rm -rf "$folder"
readonly apt=$folder/apt
mkdir -p "$apt"/{sources,lists/partial,archives/partial} "$folder/usr"/{bin,lib,sbin}
: >"$apt/status"
for name in bin lib sbin; do ln -s "usr/$name" "$folder/$name"; done

for suite in "debian bookworm" "debian bookworm-updates" "debian-security bookworm-security"; do
  printf '%s\n' "Types: deb" "URIs: http://deb.debian.org/${suite% *}" "Suites: ${suite#* }" \
    "Components: main" "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg" \
    >"$apt/sources/${suite#* }.sources"
done
cat >"$apt/apt.conf" <<END
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
APT::Install-Recommends "false";
APT::Sandbox::User "";
Dir::State::lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::Cache::archives "$apt/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$apt/sources";
Dir::Etc::PreferencesParts "/dev/null";
END
export APT_CONFIG=$apt/apt.conf
apt-get update -qq
apt-get install -y -qq --download-only "${packages[@]}" >/dev/null
for package in "$apt"/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$package" |
    tar -x --keep-directory-symlink --no-same-owner -C "$folder" \
      --exclude='./usr/share/doc' --exclude='./usr/share/man' --exclude='./usr/share/locale' \
      --exclude='./dev'
done
# Links to the root of the machine that the packages are for.
find "$folder" -type l -lname '/*' -printf '%p\n%l\n' | while read -r link && read -r target; do
  ln -sfnr "$folder$target" "$link"
done
# So are these paths.
sed -i 's#\([";]\)/usr/lib/\([a-z0-9]*-linux-gnu\)/#\1${_IMPORT_PREFIX}/../\2/#g' \
  "$folder"/usr/lib/llvm-22/lib/cmake/llvm/LLVMExports.cmake
rm -rf "$apt"
touch "$stamp"
