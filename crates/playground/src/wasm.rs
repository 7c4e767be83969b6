//! The interface of the WebAssembly module, which contains one engine and the buffers of a request.
//!
//! A request consists of its name, a line feed and its arguments. The page reserves a buffer for
//! the request and one for the attachment, fills them, calls `answer`, and reads `answer_length`
//! bytes from `answer_start`.

use std::cell::RefCell;

use crate::Engine;

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Passes an intermediate answer to the page. The page copies the text before the call returns.
    fn report(start: *const u8, length: usize);
}

#[derive(Default)]
struct Buffers {
    request: Vec<u8>,
    attachment: Vec<u8>,
    answer: Vec<u8>,
}

thread_local! {
    static ENGINE: RefCell<Engine> = RefCell::default();
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

#[unsafe(no_mangle)]
extern "C" fn reserve_request(length: usize) -> *mut u8 {
    BUFFERS.with_borrow_mut(|buffers| {
        buffers.request = vec![0; length];
        buffers.request.as_mut_ptr()
    })
}

#[unsafe(no_mangle)]
extern "C" fn reserve_attachment(length: usize) -> *mut u8 {
    BUFFERS.with_borrow_mut(|buffers| {
        buffers.attachment = vec![0; length];
        buffers.attachment.as_mut_ptr()
    })
}

/// Answers the request in the buffers. Returns 1 if the answer is an error message, otherwise 0.
#[unsafe(no_mangle)]
extern "C" fn answer() -> u32 {
    let Buffers { request, attachment, .. } = BUFFERS.take();
    let mut pass = |text: &str| {
        // SAFETY: the page reads `text.len()` bytes from the start of `text`, which stays valid
        // during the call.
        unsafe { report(text.as_ptr(), text.len()) }
    };
    let answered = match std::str::from_utf8(&request) {
        Ok(request) => {
            let (name, arguments) = request.split_once('\n').unwrap_or((request, "null"));
            ENGINE.with_borrow_mut(|engine| engine.answer(name, arguments, &attachment, &mut pass))
        }
        Err(_) => Err("the request is not UTF-8 text".to_owned()),
    };
    let (answer, code) = match answered {
        Ok(answer) => (answer, 0),
        Err(sentence) => (sentence.into_bytes(), 1),
    };
    BUFFERS.with_borrow_mut(|buffers| buffers.answer = answer);
    code
}

#[unsafe(no_mangle)]
extern "C" fn answer_start() -> *const u8 {
    BUFFERS.with_borrow(|buffers| buffers.answer.as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn answer_length() -> usize {
    BUFFERS.with_borrow(|buffers| buffers.answer.len())
}
