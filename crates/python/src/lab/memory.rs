use std::{ptr, slice};

use numpy::npyffi::NPY_ARRAY_WRITEABLE;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyMemoryView, PyTuple};
#[cfg(target_os = "linux")]
use rustix::mm::{Advice, madvise};

#[cfg(target_os = "linux")]
const HUGE_BYTES_MIN: usize = 4 << 20;
#[cfg(target_os = "linux")]
const PAGE_BYTES: usize = 4096;

/// A type for which every bit pattern is valid, because Python code may write any bits.
pub(crate) trait Number: Copy {}
impl Number for i16 {}
impl Number for u8 {}
impl Number for f32 {}

/// A NumPy array whose memory Rust code also writes. Python code can neither move nor free the
/// memory: the memory belongs to a `bytearray`, which cannot be resized while a view of it exists.
pub(crate) struct SharedMemory<T> {
    name: &'static str,
    array: Py<PyUntypedArray>,
    /// Python code must not get the view, because it could release the view.
    _view: Py<PyMemoryView>,
    start: *mut T,
    len: usize,
}

// SAFETY: only `lend` uses the pointer, and `lend` has an exclusive reference to `self`.
unsafe impl<T: Send> Send for SharedMemory<T> {}
// SAFETY: no method with `&self` reads or writes the memory.
unsafe impl<T: Sync> Sync for SharedMemory<T> {}

impl<T: Number> SharedMemory<T> {
    /// Returns an array of zeros. `dtype` is the NumPy name of a type with the same size as `T`.
    pub fn new(py: Python<'_>, name: &'static str, dtype: &str, shape: &[usize]) -> PyResult<Self> {
        let len: usize = shape.iter().product();
        let bytes = len * size_of::<T>();
        // An empty `bytearray` has no memory, so at least one byte is allocated.
        let owner = zeros(py, bytes.max(1))
            .map_err(|_| PyMemoryError::new_err(format!("{name}: cannot allocate {bytes} bytes")))?;
        let view = PyMemoryView::from(&owner)?.unbind();
        let start = owner.data().cast::<T>();
        if !start.is_aligned() {
            return Err(PyMemoryError::new_err(format!("{name}: the allocated memory is not aligned")));
        }
        let array = py.import("numpy")?.getattr("ndarray")?.call1((PyTuple::new(py, shape)?, dtype, owner))?;
        Ok(Self { name, array: array.cast_into::<PyUntypedArray>()?.unbind(), _view: view, start, len })
    }

    pub fn array(&self, py: Python<'_>) -> Py<PyAny> {
        self.array.clone_ref(py).into_any()
    }

    /// Returns the memory, which may be written even after the interpreter lock is released. Fails
    /// if the array is read-only or points to other memory.
    pub fn lend(&mut self, py: Python<'_>) -> PyResult<&mut [T]> {
        let name = self.name;
        // SAFETY: the array is alive, and unchanged while this thread holds the interpreter lock.
        let (data, flags) = unsafe {
            let fields = &(*self.array.bind(py).as_array_ptr()).fields;
            (fields.data, fields.flags)
        };
        if flags & NPY_ARRAY_WRITEABLE == 0 {
            return Err(PyValueError::new_err(format!("{name}: the array is read-only: expected a writable one")));
        }
        if data != self.start.cast() {
            return Err(PyValueError::new_err(format!(
                "{name}: the array points to other memory: expected the batch's own"
            )));
        }
        // SAFETY: the memory keeps its start and length while `_view` exists. Every bit pattern is
        // valid for a `Number`. `&mut self` excludes a second slice from this method, and arrays
        // from Python are read through pointers. If Python code uses the array at the same time,
        // the numbers are arbitrary, as with NumPy functions that release the interpreter lock.
        Ok(unsafe { slice::from_raw_parts_mut(self.start, self.len) })
    }
}

/// A `bytearray` of zeros. On Linux, a large one uses huge pages if the kernel has them, like
/// NumPy's own arrays. This makes steps with planes faster.
fn zeros(py: Python<'_>, bytes: usize) -> PyResult<Bound<'_, PyByteArray>> {
    let len = isize::try_from(bytes)?;
    // SAFETY: the call returns a new reference, or null with an exception.
    let object = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyByteArray_FromStringAndSize(ptr::null(), len)) }?;
    let owner = object.cast_into::<PyByteArray>()?;
    #[cfg(target_os = "linux")]
    if bytes >= HUGE_BYTES_MIN {
        let unaligned = owner.data().addr().wrapping_neg() % PAGE_BYTES;
        // SAFETY: the range lies in the `bytearray`, and the advice does not change its content. A
        // kernel without huge pages rejects the advice, which is harmless.
        let _ = unsafe { madvise(owner.data().add(unaligned).cast(), bytes - unaligned, Advice::LinuxHugepage) };
    }
    // SAFETY: the `bytearray` owns `bytes` bytes from this address, and no other code refers to it.
    unsafe { owner.data().write_bytes(0, bytes) };
    Ok(owner)
}
