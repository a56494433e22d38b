"""What torch does with memory while a check wants to know: allocations, writes, reads, copies.

A dispatch mode sees each torch op of its thread; threads that start later get modes of their own.
What an op writes is defined afterwards; what it reads is looked at by the check. Ops that put
elements elsewhere, and those that compute each element by itself, count as neither: an element that
nobody has given a value is followed to where they put it. Which ones an op moves it is asked
itself, by running it again on the numbers of the elements. NumPy arrays that share memory with a
tensor are seen when they are made, and printed tensors when they are printed.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from blockscope.frames import position
from blockscope.module_hooks import after_import
from blockscope.process_lock import ProcessLock

_OURS = os.path.dirname(__file__) + os.sep
_ARGUMENTS = os.path.join(_OURS, "runtime", "memory") + os.sep
_ALLOCATIONS = {
    "empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted",
}  # fmt: skip
#: Ops that write all of self without a look at it.
_OVERWRITES = {
    "fill_", "zero_", "normal_", "uniform_", "random_", "exponential_", "bernoulli_", "cauchy_",
    "geometric_", "log_normal_", "resize_", "resize_as_", "set_", "fill", "eye", "arange",
    "linspace", "randperm", "requires_grad_",
}  # fmt: skip
#: Views that the schemas do not call so.
_VIEWS = {"_unsafe_view", "_reshape_alias", "lift", "lift_fresh"}
_COPIES = {"clone", "_to_copy", "contiguous", "lift_fresh_copy", "_pin_memory"}
#: Ops that look at no element.
_UNSEEING = {
    "rand_like", "randn_like", "randint_like", "zeros_like", "ones_like", "full_like", "new_zeros",
    "new_ones", "new_full", "is_same_size", "is_pinned", "record_stream",
}  # fmt: skip
#: Ops that only put elements elsewhere, into a new tensor or (with `_`) into self.
_MOVES = {
    "cat", "stack", "index_select", "index", "gather", "roll", "flip", "repeat", "constant_pad_nd",
    "where", "masked_fill", "tril", "triu", "take", "repeat_interleave", "index_put", "index_copy",
    "index_fill", "slice_scatter", "select_scatter", "scatter", "masked_scatter", "expand_copy",
    "permute_copy", "view_copy", "masked_select", "unfold_copy", "as_strided_copy", "slice_copy",
    "select_copy", "rot90", "put", "copy", "_index_put_impl",
}  # fmt: skip
#: Their arguments that say where; the other tensors are what they move.
_CHOOSERS = {"index", "indices", "mask", "condition", "repeats"}
#: Their arguments that may be one number for many elements.
_FILLERS = {"self", "other", "value"}
#: Ops on more elements than this, of which some are undefined, give all that they write a value.
_MOST_NUMBERED = 1 << 22
_MOST_CLEARED = 1 << 28  # bytes


class _Watch:
    """Tells the sanitizers of one report; ``handle`` gives its session, which may change."""

    def __init__(self, handle: Callable[[], Any], one_launch: ProcessLock) -> None:
        self._handle = handle
        self._one_launch = one_launch
        self.is_over = False  # threads may outlive the watch
        self._freed: deque[tuple[int, int]] = deque()
        self._known: weakref.WeakSet[Any] = weakref.WeakSet()  # storages whose end is awaited

    def forget_freed(self) -> None:
        """Before a launch or an event: memory that is gone may come back as another tensor's."""
        while self._freed and not self.is_over:
            self._handle().host_free(*self._freed.popleft())

    def allocated(self, tensor: Any) -> None:
        with self._one_launch:
            self.forget_freed()
            storage = tensor.untyped_storage()
            begin, size = storage.data_ptr(), storage.nbytes()
            if begin and size and not self.is_over:
                self._handle().host_allocation(begin, size, *_users_place())
                self._await_end(storage, begin, size)

    def written(self, tensor: Any) -> None:
        with self._one_launch:
            self.forget_freed()
            if not self.is_over:
                self._handle().host_write(_elements(tensor))

    def read(self, tensor: Any) -> None:
        is_launching = self._one_launch.is_held()  # what a launch itself reads is not the user's
        with self._one_launch:
            if not is_launching and self._may_be_undefined(tensor):
                self._handle().host_read(_elements(tensor), *_users_place())

    def copied(self, source: Any, target: Any) -> None:
        """The elements of ``source``, one by one."""
        with self._one_launch:
            if source.numel() != target.numel() or not self._may_be_undefined(source):
                self.written(target)
                return
            self._handle().host_copy(_elements(source, once=False), _elements(target, once=False))
            self._await_end_of(target)

    def is_undefined(self, tensor: Any) -> bool:
        """Whether some element may have no value."""
        with self._one_launch:
            return self._may_be_undefined(tensor) and self._handle().is_undefined(_elements(tensor))

    def computed(self, sources: list[Any], target: Any) -> None:
        """Each element of ``target`` from those of ``sources`` at its place, all of one shape."""
        is_launching = self._one_launch.is_held()
        with self._one_launch:
            followed = [t for t in sources if self._may_be_undefined(t)]
            if is_launching or not followed:
                self.written(target)
                return
            elements = [_elements(t, once=False) for t in followed]
            self._handle().host_compute(elements, _elements(target, once=False), *_users_place())
            self._await_end_of(target)

    def moved(self, sources: list[Any], numbers: Any, target: Any) -> None:
        """``numbers`` says which element each of ``target`` is, counted from 1 through all of
        ``sources``; 0: it has a value."""
        with self._one_launch:
            if not self.is_over:
                elements = [_elements(t, once=False) for t in sources]
                self._handle().host_move(elements, numbers, _elements(target, once=False))
                self._await_end_of(target)

    def shared(self, tensor: Any) -> None:
        """Something else than torch is given the memory, to read it or to write it."""
        with self._one_launch:
            if self._may_be_undefined(tensor):
                self._handle().host_share(_elements(tensor), *_users_place())

    def shown(self, tensor: Any) -> None:
        """A print: of a large tensor it has the first and the last elements."""
        import torch

        options = torch._tensor_str.PRINT_OPTS
        edge, parts = options.edgeitems, [tensor]
        for axis, size in enumerate(tensor.shape if tensor.numel() > options.threshold else ()):
            if size > 2 * edge:
                parts = [p.narrow(axis, at, edge) for p in parts for at in (0, size - edge)]
        for part in parts:
            self.read(part)

    def _may_be_undefined(self, tensor: Any) -> bool:
        self.forget_freed()
        return not self.is_over and bool(self._handle().may_be_undefined(*_storage(tensor)))

    def end(self) -> None:
        with self._one_launch:
            self.is_over = True

    def is_copying_arguments(self) -> bool:
        """Whether a launch copies tensors of a GPU to the host, or back: what is defined stays."""
        if not self._one_launch.is_held():
            return False
        frame: Any = sys._getframe(1)
        while frame and frame.f_code.co_filename.startswith((__file__, _torch_folder(), "<")):
            frame = frame.f_back
        return frame is not None and frame.f_code.co_filename.startswith(_ARGUMENTS)

    def _await_end_of(self, tensor: Any) -> None:
        self._await_end(tensor.untyped_storage(), *_storage(tensor))

    def _await_end(self, storage: Any, begin: int, size: int) -> None:
        if storage not in self._known:
            self._known.add(storage)
            weakref.finalize(storage, self._freed.append, (begin, size)).atexit = False


def _storage(tensor: Any) -> tuple[int, int]:
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.nbytes()


def _elements(tensor: Any, *, once: bool = True) -> tuple[Any, ...]:
    """``once``: elements that an expanded tensor has many times are there once."""
    size, strides = tensor.element_size(), tensor.stride()
    shape = [
        1 if once and stride == 0 and length else length
        for length, stride in zip(tensor.shape, strides, strict=True)
    ]
    bytes_apart = [stride * size for stride in strides]
    return (tensor.data_ptr(), size, shape, bytes_apart, *_storage(tensor))


def _torch_folder() -> str:
    return _folder("torch")


def _folder(module: str) -> str:
    return os.path.dirname(sys.modules[module].__file__ or "") + os.sep


def _users_place() -> tuple[str, int, int, str]:
    """File, line, column and function of the innermost frame that is the user's."""
    frame: Any = sys._getframe(1)
    libraries = (_OURS, _torch_folder(), _folder("numpy"), "<")
    while frame.f_back and frame.f_code.co_filename.startswith(libraries):
        frame = frame.f_back
    code = frame.f_code
    function = "" if code.co_name == "<module>" else code.co_name
    return code.co_filename, *position(frame), function


def _has_memory(value: Any) -> bool:
    import torch

    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided or value.is_nested:
        return False
    try:
        return value.device.type != "meta" and value.untyped_storage().data_ptr() != 0
    except (RuntimeError, NotImplementedError):  # a wrapper without memory of its own
        return False


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors(each)
    elif _has_memory(value):
        yield value


class _Schema:
    """What an op does with its arguments, by its schema and the lists above."""

    def __init__(self, op: Any) -> None:
        import torch

        schema = op._schema
        self.op = op
        self.name = op.overloadpacket.__name__
        arguments = schema.arguments
        self.writes = {
            a.name: i for i, a in enumerate(arguments) if a.alias_info and a.alias_info.is_write
        }
        self.names = [a.name for a in arguments]
        is_view = self.name in _VIEWS or any(
            r.alias_info and not r.alias_info.is_write for r in schema.returns
        )
        self.makes = not is_view and not any(r.alias_info for r in schema.returns)
        is_unseeing = self.name in _UNSEEING or self.name in _ALLOCATIONS
        self.reads = not is_view and not is_unseeing
        self.is_in_place = self.name.endswith("_")
        self.overwrites = self.name in _OVERWRITES or not self.is_in_place
        self.moves = self.name.removesuffix("_") in _MOVES
        gives_tensors = all(str(each.type) == "Tensor" for each in schema.returns)
        is_pointwise = gives_tensors and torch.Tag.pointwise in op.tags
        self.computes = is_pointwise and self.reads and not self.moves


def _python_kernel(op: Any, args: Any, kwargs: Any) -> Any:
    """The dispatch key under which a custom op runs Python for these arguments; None for others."""
    import torch

    known: Any = getattr(torch.library, "_impls", ())
    name = op._schema.name.replace("::", "/")
    tensor = next(_tensors([*args, *kwargs.values()]), None)
    device = torch._C._dispatch_key_for_device(tensor.device.type if tensor is not None else "cpu")
    for key in (device, "CompositeExplicitAutograd"):
        if f"{name}/{key}" in known or f"{name}.{op._overloadname}/{key}" in known:
            return getattr(torch._C.DispatchKey, device)
    return None


def _apply(watch: _Watch, schema: _Schema, args: Any, kwargs: Any, run: Callable[[], Any]) -> Any:
    """Runs an op and tells what it does."""
    named = {**dict(zip(schema.names, args, strict=False)), **kwargs}
    targets = [t for name in schema.writes for t in _tensors(named.get(name))]
    if schema.name in _COPIES and _has_memory(args[0] if args else None):
        result = run()
        for made in _tensors(result) if schema.makes else ():
            watch.copied(args[0], made)
        return result
    if schema.name == "resize_" and targets:
        before = _storage(targets[0])
        result = run()
        if _storage(targets[0]) != before:  # what it held is kept, at its beginning
            _clear(targets[0], before[1])
            watch.allocated(targets[0])
            _keep_beginning(watch, targets[0], before[1])
        return result
    tell = _tells_moves if schema.moves else _tells_computed if schema.computes else _tells_reads
    tell_result = tell(watch, schema, args, kwargs, named)
    result = run()
    made = [*_tensors(result)] if schema.makes else []
    if schema.name in _ALLOCATIONS:
        for tensor in made:
            _clear(tensor)
            watch.allocated(tensor)
    else:
        tell_result([*targets, *made])
    return result


#: What is to be told of an op when it has run, by the tensors that it wrote or made.
_TellResult = Callable[[list[Any]], None]


def _all_written(watch: _Watch) -> _TellResult:
    def tell(results: list[Any]) -> None:
        for result in results:
            watch.written(result)

    return tell


def _sources(schema: _Schema, named: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The tensors whose elements an op asks for, by the names of its arguments."""
    for name, value in named.items():
        if name not in schema.writes or not schema.overwrites:
            for tensor in _tensors(value):
                yield name, tensor


def _tells_reads(
    watch: _Watch, schema: _Schema, args: Any, kwargs: Any, named: dict[str, Any]
) -> _TellResult:
    for _, tensor in _sources(schema, named) if schema.reads else ():
        watch.read(tensor)
    return _all_written(watch)


def _tells_computed(
    watch: _Watch, schema: _Schema, args: Any, kwargs: Any, named: dict[str, Any]
) -> _TellResult:
    sources = [tensor for _, tensor in _sources(schema, named)]

    def tell(results: list[Any]) -> None:
        for result in results:
            watch.computed([t.expand(result.shape) for t in sources], result)

    return tell


def _tells_moves(
    watch: _Watch, schema: _Schema, args: Any, kwargs: Any, named: dict[str, Any]
) -> _TellResult:
    found = {}
    for name, tensor in _sources(schema, named):
        if name in _CHOOSERS:
            watch.read(tensor)
        elif watch.is_undefined(tensor):
            found[id(tensor)] = tensor
    sources = [*found.values()]
    adds = named.get("accumulate") or "reduce" in named
    if not sources or adds or sum(t.numel() for t in sources) > _MOST_NUMBERED:
        return _all_written(watch)
    if schema.name == "copy_" and named["self"].shape == named["src"].shape:
        return lambda results: watch.copied(named["src"], results[0])

    def tell(results: list[Any]) -> None:
        try:
            with unwatched():
                moved = _moved_numbers(schema, args, kwargs, sources)
        except (RuntimeError, TypeError, NotImplementedError):  # an op that takes no integers
            _all_written(watch)(results)
            return
        for result, numbers in zip(results, moved, strict=False):
            watch.moved(sources, numbers, result)

    return tell


def _moved_numbers(schema: _Schema, args: Any, kwargs: Any, sources: list[Any]) -> list[Any]:
    """For each result the numbers of the elements that are put there, as NumPy arrays: the op
    itself says it, run on the numbers."""
    import torch

    begins, next_ = {}, 1
    for tensor in sources:
        begins[id(tensor)] = next_
        next_ += tensor.numel()

    def numbers(name: str, value: Any) -> Any:
        if name in _CHOOSERS:
            return value
        if isinstance(value, (list, tuple)):
            return type(value)(numbers(name, each) for each in value)
        if isinstance(value, torch.Tensor):
            begin = begins.get(id(value))
            if begin is None:
                return torch.zeros(value.shape, dtype=torch.int64, device=value.device)
            end = begin + value.numel()
            return torch.arange(begin, end, device=value.device).reshape(value.shape)
        return 0 if name in _FILLERS and isinstance(value, (int, float, complex)) else value

    positional = [numbers(name, value) for name, value in zip(schema.names, args, strict=False)]
    named = {
        name: numbers(name, value)
        for name, value in kwargs.items()
        if schema.is_in_place or name not in schema.writes
    }
    result = schema.op.overloadpacket(*positional, **named)
    return [each.contiguous().cpu().numpy().reshape(-1) for each in _tensors([result])]


def _clear(tensor: Any, first: int = 0) -> None:
    """Puts zeros where memory has no values, so that what else is found there (a NaN, a wrap) does
    not differ from run to run. Not into large tensors, whose memory may never be touched."""
    begin, size = _storage(tensor)
    if tensor.device.type == "cpu" and first < size <= _MOST_CLEARED:
        ctypes.memset(begin + first, 0, size - first)


def _keep_beginning(watch: _Watch, tensor: Any, size: int) -> None:
    begin, total = _storage(tensor)
    with watch._one_launch:
        kept = min(size, total)
        watch._handle().host_write((begin, 1, [kept], [1], begin, total))


class _Quiet(threading.local):
    is_on = False


_quiet = _Quiet()


@contextmanager
def unwatched() -> Iterator[None]:
    """No session is told what torch does inside the block, on this thread: it puts back what it
    changes."""
    was_on, _quiet.is_on = _quiet.is_on, True
    try:
        yield
    finally:
        _quiet.is_on = was_on


#: For each watch that is on: what watches a thread while it is entered there.
_watches_of_new_threads: list[Callable[[], AbstractContextManager[None]]] = []
#: What ``threading.Thread.start`` was before the first watch.
_start: Callable[[threading.Thread], None] | None = None


def _see_new_threads() -> None:
    """For good: others may have wrapped ours since."""
    global _start
    if _start is None:
        _start = threading.Thread.start
        threading.Thread.start = _start_watched  # type: ignore[assignment, method-assign]


def _start_watched(thread: threading.Thread) -> None:
    """In the place of ``threading.Thread.start``: what the thread runs is told to the watches that
    are on as it starts."""
    assert _start is not None
    watches, run = [*_watches_of_new_threads], thread.run
    if not watches or thread.ident is not None:
        _start(thread)
        return

    def run_watched() -> None:
        del thread.run  # the class's again
        with ExitStack() as stack:
            for on_this_thread in watches:
                stack.enter_context(on_this_thread())
            run()

    thread.run = run_watched  # type: ignore[method-assign]
    try:
        _start(thread)
    except BaseException:
        if thread.ident is None:
            thread.__dict__.pop("run", None)
        raise


#: The watches that are on, which are told of pickles.
_watches_of_pickles: list[_Watch] = []
#: What pickled a tensor before the first watch; torch.save calls it, too.
_reduce: Callable[[Any, Any], Any] | None = None


def _see_pickles(watch: _Watch) -> None:
    """For good, as ``_see_new_threads``: of a plain tensor torch's modes are not asked."""
    import torch

    global _reduce
    _watches_of_pickles[:] = [w for w in _watches_of_pickles if not w.is_over] + [watch]
    if _reduce is None:
        _reduce = torch.Tensor._reduce_ex_internal
        torch.Tensor._reduce_ex_internal = _reduced  # type: ignore[method-assign]


def _reduced(tensor: Any, protocol: Any) -> Any:
    """In the place of what pickles a tensor: its memory is read."""
    assert _reduce is not None
    if not _quiet.is_on and _has_memory(tensor):
        for watch in [*_watches_of_pickles]:
            if not watch.is_over:
                watch.shared(tensor)
    return _reduce(tensor, protocol)


@contextmanager
def watching(handle: Callable[[], Any], one_launch: ProcessLock) -> Iterator[Callable[[], None]]:
    """Tells the session ``handle()`` what torch does inside the block, on this thread and on those
    that start there.

    Gives what is to be called before each launch. Does not import torch, which takes seconds: the
    watch begins when the program does, on the thread that does it and with launches on others.
    """
    watch = _Watch(handle, one_launch)
    made: dict[str, list[Any]] = {}  # the kinds of modes, once torch is there
    here = threading.local()

    def begin(torch: Any = None) -> None:
        """On a thread that is watched, when torch is there."""
        modes = getattr(here, "waiting", None)
        if modes is not None:
            here.waiting = None
            for kind in made.get("kinds") or made.setdefault("kinds", _kinds(watch)):
                modes.enter_context(kind())

    def leave_alone(dynamo: Any) -> None:
        for kind in made.get("kinds", ()):
            _leave_alone(kind)

    @contextmanager
    def on_this_thread() -> Iterator[None]:
        with ExitStack() as modes:
            here.waiting = modes
            if _is_loaded("torch"):
                begin()
            yield

    def before_launch() -> None:
        if _is_loaded("torch"):
            begin()
        watch.forget_freed()

    _see_new_threads()
    with ExitStack() as stack:
        stack.callback(watch.end)
        stack.callback(_watches_of_new_threads.remove, on_this_thread)
        _watches_of_new_threads.append(on_this_thread)
        stack.enter_context(after_import("torch", begin))
        stack.enter_context(after_import("torch._dynamo", leave_alone))
        stack.enter_context(on_this_thread())
        yield before_launch


def _is_loaded(name: str) -> bool:
    module = sys.modules.get(name)
    return module is not None and not getattr(module.__spec__, "_initializing", False)


def _leave_alone(kind: Any) -> None:
    """Has torch.compile not compile what the ops of a thread run."""
    import torch

    if "__torch_dispatch__" in kind.__dict__:
        kind.__torch_dispatch__ = torch._disable_dynamo(kind.__dict__["__torch_dispatch__"])


def _kinds(watch: _Watch) -> list[Any]:
    """The modes in which a thread's functions and ops of torch are seen."""
    import torch
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    _see_pickles(watch)
    schemas: dict[Any, _Schema] = {}
    sharing = ("numpy", "__array__", "tolist", "__dlpack__")
    told_of: dict[Any, Callable[[Any], None]] = {
        getattr(torch.Tensor, name): watch.shared for name in sharing
    }
    for name in ("__repr__", "__format__"):
        told_of[getattr(torch.Tensor, name)] = watch.shown

    class Ops(TorchDispatchMode):
        supports_higher_order_operators = True

        @classmethod
        def ignore_compile_internals(cls) -> bool:
            """torch.compile compiles under this mode; without, it would leave all code alone."""
            return True

    def dispatch(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not hasattr(func, "_schema"):  # an op on functions: what it calls comes by itself
            return func(*args, **kwargs)
        schema = schemas.get(func)
        if schema is None:
            schema = schemas[func] = _Schema(func)
        if watch.is_over or _quiet.is_on or watch.is_copying_arguments():
            return func(*args, **kwargs)
        if func.namespace != "aten" and (key := _python_kernel(func, args, kwargs)):
            with self:  # what it calls is seen, as if the user had called it
                return func.redispatch(torch._C.DispatchKeySet(key), *args, **kwargs)
        return _apply(watch, schema, args, kwargs, lambda: func(*args, **kwargs))

    # A method of the class's body would be left alone at once, which imports all of torch.compile
    # with the first op: a second, or three. So it is when the program imports that.
    ops: Any = Ops
    ops.__torch_dispatch__ = dispatch
    if _is_loaded("torch._dynamo"):
        _leave_alone(ops)

    class Functions(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if torch.compiler.is_compiling():  # torch.compile reads this function, too
                return func(*args, **(kwargs or {}))
            tell = told_of.get(func)
            if tell and not watch.is_over and not _quiet.is_on and _has_memory(args[0]):
                tell(args[0])
            return func(*args, **(kwargs or {}))

    return [Functions, Ops]
