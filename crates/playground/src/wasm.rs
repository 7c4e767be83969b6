//! The interface of the WebAssembly module, which contains one engine and the buffers of a request.
//!
//! The page reserves a buffer for the request, fills it, calls `answer`, and reads `answer_length`
//! bytes from `answer_start`. The first line of the request is its name; [`Engine::answer_line`]
//! describes the rest.

use std::cell::RefCell;

use crate::Engine;

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Passes an intermediate answer to the page. The page copies the text before the call returns.
    fn report(start: *const u8, length: usize);
}

thread_local! {
    static ENGINE: Engine = Engine::default();
    static REQUEST: RefCell<Vec<u8>> = RefCell::default();
    static ANSWER: RefCell<Vec<u8>> = RefCell::default();
}

#[unsafe(no_mangle)]
extern "C" fn reserve_request(length: usize) -> *mut u8 {
    REQUEST.set(vec![0; length]);
    REQUEST.with_borrow_mut(|request| request.as_mut_ptr())
}

/// Answers the request in the buffer. Returns 1 if the answer is an error message, otherwise 0.
#[unsafe(no_mangle)]
extern "C" fn answer() -> u32 {
    let request = REQUEST.take();
    let mut pass = |text: &str| {
        // SAFETY: the page reads `text.len()` bytes from the start of `text`, which stays valid
        // during the call.
        unsafe { report(text.as_ptr(), text.len()) };
        true
    };
    let (name, rest) = Engine::split(&request);
    let answered = ENGINE.with(|engine| engine.answer_line(&name, rest, &mut pass));
    let code = answered.is_err().into();
    ANSWER.set(answered.unwrap_or_else(String::into_bytes));
    code
}

#[unsafe(no_mangle)]
extern "C" fn answer_start() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn answer_length() -> usize {
    ANSWER.with_borrow(Vec::len)
}
