use std::collections::TryReserveError;
use std::slice;
use std::sync::Arc;

use numpy::ndarray::ArrayViewD;
use numpy::npyffi::NPY_ARRAY_WRITEABLE;
use numpy::{Element, PyArrayDyn, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
#[cfg(target_os = "linux")]
use rustix::mm::{Advice, madvise};

#[cfg(target_os = "linux")]
const HUGE_BYTES_MIN: usize = 4 << 20;
#[cfg(target_os = "linux")]
const PAGE_BYTES: usize = 4096;

/// A type for which every bit pattern is valid, because Python code may write any bits.
pub(crate) trait Number: Copy + Default + Send + Sync + 'static {}
impl Number for i16 {}
impl Number for u8 {}
impl Number for f32 {}

/// A NumPy array whose memory Rust code also writes. Python code can neither move nor free the
/// memory, because this struct owns it, too.
pub(crate) struct SharedMemory<T> {
    name: &'static str,
    array: Py<PyUntypedArray>,
    _owner: Arc<Vec<T>>,
    start: *mut T,
    len: usize,
}

// SAFETY: only `lend` uses the pointer, and `lend` has an exclusive reference to `self`.
unsafe impl<T: Send> Send for SharedMemory<T> {}
// SAFETY: no method with `&self` reads or writes the memory.
unsafe impl<T: Sync> Sync for SharedMemory<T> {}

impl<T: Number> SharedMemory<T> {
    /// Returns an array of zeros. The array's elements, `E`, have the size of `T`.
    pub fn new<E: Element>(py: Python<'_>, name: &'static str, shape: &[usize]) -> PyResult<Self> {
        const { assert!(size_of::<E>() == size_of::<T>() && align_of::<E>() == align_of::<T>()) };
        // Without NumPy, its API would panic.
        py.import("numpy")?;
        let len: usize = shape.iter().product();
        let mut numbers = zeros::<T>(len).map_err(|_| {
            let bytes = len * size_of::<T>();
            PyMemoryError::new_err(format!("{name}: cannot allocate {bytes} bytes"))
        })?;
        let start = numbers.as_mut_ptr();
        let owner = Arc::new(numbers);
        let capsule = PyCapsule::new_with_value(py, Arc::clone(&owner), c"getaway.memory")?.into_any();
        // SAFETY: the view covers `owner`, whose zeros are valid values of `E`. The array keeps the
        // capsule, which keeps the memory.
        let base = unsafe {
            let view = ArrayViewD::<E>::from_shape_ptr(shape, start.cast());
            PyArrayDyn::borrow_from_array(&view, capsule)
        };
        // Python code that has made an array read-only can undo this only if its base is an array.
        let array = base.call_method0("view")?.cast_into::<PyUntypedArray>()?.unbind();
        Ok(Self { name, array, _owner: owner, start, len })
    }

    pub fn array(&self, py: Python<'_>) -> Py<PyAny> {
        self.array.clone_ref(py).into_any()
    }

    /// Returns the memory, which may be written even after the GIL is released. Fails
    /// if the array is read-only or points to other memory.
    pub fn lend(&mut self, py: Python<'_>) -> PyResult<&mut [T]> {
        let name = self.name;
        // SAFETY: the array is alive, and unchanged while this thread holds the GIL.
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
        // SAFETY: the memory keeps its start and length while `_owner` exists. Every bit pattern is
        // valid for a `Number`. `&mut self` excludes a second slice from this method, and arrays
        // from Python are read through pointers. If Python code uses the array at the same time,
        // the numbers are arbitrary, as with NumPy functions that release the GIL.
        Ok(unsafe { slice::from_raw_parts_mut(self.start, self.len) })
    }
}

/// Returns a vector of zeros. On Linux, a large one uses huge pages if the kernel has them, like
/// NumPy's own arrays. This makes steps with planes faster.
fn zeros<T: Number>(len: usize) -> Result<Vec<T>, TryReserveError> {
    let mut numbers: Vec<T> = Vec::new();
    numbers.try_reserve_exact(len)?;
    #[cfg(target_os = "linux")]
    if len * size_of::<T>() >= HUGE_BYTES_MIN {
        let start = numbers.as_mut_ptr().cast::<u8>();
        let unaligned = start.addr().wrapping_neg() % PAGE_BYTES;
        // SAFETY: the range lies in the vector's memory, and the advice does not change its content.
        // A kernel without huge pages rejects the advice, which is harmless.
        let _ =
            unsafe { madvise(start.add(unaligned).cast(), len * size_of::<T>() - unaligned, Advice::LinuxHugepage) };
    }
    numbers.resize(len, T::default());
    Ok(numbers)
}
