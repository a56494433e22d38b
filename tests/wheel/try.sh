#!/usr/bin/env bash
# try.sh WHEEL: does with the wheel what a new user does, in a bare Debian 12 that has Python and
# nothing else, and lets the loader of Debian 11, which has an older C library, take its files.
# The roots stay in build/wheel-roots for the next time. Needs root (chroot) and Debian's registry.
#
# A wheel for another architecture runs by qemu-user, which the kernel is told to use for its
# programs (binfmt_misc). There a sample of the tests runs too, and what kernels compute is compared
# with what the build in build/dev computes on this machine.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
readonly wheel=$1 roots=$PWD/build/wheel-roots mirror=http://deb.debian.org/debian
say() { printf '==> %s\n' "$*" >&2; }
fail() { printf 'wheel: %s\n' "$*" >&2; exit 1; }
((EUID == 0)) || fail "the bare roots need chroot: run this as root"
case $wheel in
  *_x86_64.whl) readonly machine=x86_64 debian=amd64 ;;
  *_aarch64.whl) readonly machine=aarch64 debian=arm64 ;;
  *) fail "$wheel is for no machine that is known here" ;;
esac
suffix= # of folders
[[ $machine == $(uname -m) ]] || suffix=-$machine

# The kernel runs programs of the machine, those in other roots too.
need_emulator() {
  local table=/proc/sys/fs/binfmt_misc
  [[ -e $table/register ]] || mount -t binfmt_misc none "$table"
  [[ -e $table/qemu-$machine ]] || cat "/usr/lib/binfmt.d/qemu-$machine.conf" >"$table/register"
}

# need_root SUITE PACKAGES: a minimal system in a folder.
need_root() {
  local folder=$roots/$1$suffix
  [[ -e $folder/made-with-$2 ]] && return
  command -v debootstrap >/dev/null ||
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
  say "making a bare root of $1 ($debian) with $2"
  rm -rf "$folder"
  mkdir -p "$folder"
  debootstrap --arch="$debian" --variant=minbase --include="$2" "$1" "$folder" "$mirror" >"$folder.log" 2>&1 || {
    tail -20 "$folder.log" >&2
    fail "debootstrap failed, see above"
  }
  touch "$folder/made-with-$2"
}

# inside SUITE COMMANDS: with /proc, by which programs find what lies beside them, and terminals.
inside() {
  unshare --mount bash -euc 'mount -t proc proc "$0/proc"
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$0/dev/pts"
    exec chroot "$0" /usr/bin/env -i HOME=/root \
    LANG=C.UTF-8 PATH=/usr/bin:/bin bash -euc "$1"' "$roots/$1$suffix" "$2"
}

# README's example, for a machine without torch.
readme_example() {
  sed -n '/^```python$/,/^```$/{/^```/!p}' README.md | sed -e 's/^import torch$/import numpy as np/' \
    -e 's/^x, y, out = .*/x, y, out = (np.ones(1000, np.float32) for _ in range(3))/'
}
readme_report() { sed -n '/^\$ triton-san asan python add.py$/,/^```$/{/^[$`]/!p}' README.md; }

packages=(numpy pytest)
if [[ -n $suffix ]]; then
  need_emulator
  # In the versions of .venv, with which results are compared.
  mapfile -t packages < <(.venv/bin/python -m pip freeze |
    grep -E '^(numpy|pytest|pytest-timeout|ml_dtypes|scipy|nvidia-(cuda-(nvcc|crt|runtime)|nvvm))==')
fi
need_root bookworm python3,python3-venv
root=$roots/bookworm$suffix
rm -rf "$root/try" && mkdir -p "$root/try/packages"
cp "$wheel" "$root/try/packages"
python3 -m pip download -q --disable-pip-version-check --only-binary :all: --python-version 3.11 \
  --platform "manylinux_2_28_$machine" --platform "manylinux2014_$machine" -d "$root/try/packages" \
  "${packages[@]}"
readme_example >"$root/try/add.py"

say "installing $(basename "$wheel") ($(stat -c %s "$wheel" | numfmt --to=si --format=%.1f --round=nearest)B) in a bare Debian 12"
started=$(date +%s)
inside bookworm 'cd /try && python3 -m venv venv &&
  venv/bin/pip install -q --no-index --find-links packages blockscope'
inside bookworm 'cd /try && . venv/bin/activate && triton-san asan python add.py' \
  >"$root/try/report.txt" 2>&1 && fail "the wrong kernel of README passed"
say "from nothing to the report of README: $(($(date +%s) - started)) s"
diff <(readme_report) "$root/try/report.txt" || fail "another report than README's, see above"

# does COMMANDS TEXT WHAT: the commands, in the environment of the wheel, say the text.
does() {
  local said
  said=$(inside bookworm "cd /try && . venv/bin/activate && $1" 2>&1) || true
  grep -qF -- "$2" <<<"$said" || fail "$3: '$1' says, without '$2':"$'\n'"$said"
}
does 'blockscope doctor' 'viewer         /try' 'doctor does not find the viewer'
does 'blockscope explain oob-load' 'oob-load' 'the pages of findings are missing'
does 'python -c "import triton, triton.language; print(triton.__file__)"' blockscope \
  'import triton finds nothing'
does 'blockscope trace -o t.h5 add.py; blockscope view --csv ops t.h5' 'tl.load' \
  'the trace cannot be read'
does 'blockscope view --png p.png t.h5' 'Debian: libegl1 libegl-mesa0 libgl1 libgl1-mesa-dri' \
  'the viewer does not say what draws pictures'
does 'blockscope check --format sarif add.py' '"version": "2.1.0"' 'there is no SARIF'
does 'blockscope check --format html add.py' '<h1>Blockscope report</h1>' 'there is no HTML report'
# A launch as a file, in another folder.
does 'blockscope record add.py' 'wrote 1 launch of 1 kernel to run.blk' 'the launch is not recorded'
inside bookworm 'mkdir -p /try/elsewhere && mv /try/run.blk /try/elsewhere'
does 'cd elsewhere && blockscope check run.blk' 'error[oob-load]' 'the file of a launch is not checked'
does 'cd elsewhere && echo "p n" | blockscope step run.blk' '(Pdb) int32: 1000' 'a launch is not stepped'
does 'cd elsewhere && blockscope sweep run.blk' 'A  error: oob-load' 'a launch is not swept'
does 'cd elsewhere && blockscope sweep run.blk --vary n=1..99,BLOCK=32,64' 'A  error: oob-load' \
  'a launch is not swept over sizes'
does 'cd elsewhere && blockscope reduce run.blk' 'it shows oob-load' 'a launch is not made small'
does 'cd elsewhere && blockscope check small.py' 'error[oob-load]' 'the small file shows nothing'
cat >"$root/try/test_add.py" <<'EOF'
def test_add():
    import add
EOF
inside bookworm 'cd /try && venv/bin/pip install -q --no-index --find-links packages pytest 2>&1' |
  { grep -v '^WARNING' || true; }
does 'pytest -q --blockscope=asan test_add.py' 'FAILED test_add.py::test_add - add.py:9:9: error[oob-load]' \
  'the plugin of pytest does not check'
sed -i 's/offsets)$/offsets, mask=offsets < n)/' "$root/try/add.py"
said=$(inside bookworm 'cd /try && venv/bin/pytest -q test_add.py' 2>&1) || fail "$said"
[[ $said != *[Ww]arning* ]] || fail "pytest warns where the plugin is only installed: $said"

# With this machine's OpenGL the installed viewer draws, or with that of the packages that it was
# compiled with.
say "drawing with the wheel's viewer"
emulator=()
[[ -z $suffix ]] || emulator=("qemu-$machine-static" -L "build/sysroot-$machine")
LIBGL_ALWAYS_SOFTWARE=1 "${emulator[@]}" \
  "$root"/try/venv/lib/python3.11/site-packages/blockscope/bin/blk-view \
  "$root/try/t.h5" --png "$roots/wheel$suffix.png" || fail "the viewer draws no picture"

need_root bullseye python3
old=$roots/bullseye$suffix
rm -rf "$old/try" && mkdir -p "$old/try"
cp -r "$root/try/venv/lib/python3.11/site-packages/blockscope" "$root/try/t.h5" "$old/try"
say "loading its files with $(inside bullseye 'ldd --version' | head -1)"
[[ $(inside bullseye 'cd /try && blockscope/bin/blk-view --csv ops t.h5') == *tl.load* ]] ||
  fail "the viewer does not start there"
# Debian 11 has no Python that the module is for: what its own misses is looked up when it is called.
inside bullseye "cd /try && python3 -c 'import ctypes, glob, os
ctypes.CDLL(glob.glob(\"blockscope/_core*.so\")[0], mode=os.RTLD_LAZY)'" ||
  fail "the module does not load there"

# What kernels compute, and a sample of the tests: those that need neither torch nor a build, and
# together take few minutes.
same_as_here() {
  local here=$roots/bits-$(uname -m).txt there=$roots/bits-$machine.txt log=$roots/bits.log
  local tests="test_numeric.py test_language.py test_memory_ops.py test_step_mode.py test_ops.py"
  local slow=test_many_programs_that_wait_have_their_turn # it has 1152 threads
  git ls-files -z tests examples docs README.md pyproject.toml | tar -c --null -T - |
    tar -x -C "$root/try" --one-top-level=project
  inside bookworm 'cd /try && venv/bin/pip install -q --no-index --find-links packages \
    ml_dtypes scipy pytest-timeout nvidia-cuda-nvcc'
  say "comparing what kernels compute"
  .venv/bin/python tests/wheel/bits.py >"$here" 2>"$log" || fail "$(tail -5 "$log")"
  inside bookworm 'cd /try/project && ../venv/bin/python tests/wheel/bits.py' >"$there" 2>"$log" ||
    fail "$(tail -5 "$log")"
  diff "$here" "$there" >"$roots/bits.diff" ||
    fail "$(grep -c '^>' "$roots/bits.diff") of $(wc -l <"$there") results are not those of this machine: ${roots#"$PWD"/}/bits.diff"
  say "$(wc -l <"$there") results are those of this machine; now tests"
  inside bookworm "cd /try/project/tests/python &&
    /try/venv/bin/python -m pytest -q -p no:cacheprovider -k 'not $slow' $tests"
}
[[ -z $suffix ]] || same_as_here
say "the wheel does what README says"
