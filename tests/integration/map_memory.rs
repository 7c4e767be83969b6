//! Guarantees: decoding any image file takes less than 100 MiB of memory. The test counts every
//! allocation.

use std::io::Write;

use crate::counting;
use flate2::{Compression, Crc, write::ZlibEncoder};
use getaway::map::decode_layout;

fn peak_bytes(bytes: &[u8]) -> usize {
    counting::measure(|| decode_layout(bytes).is_ok()).1.peak_bytes
}

fn chunk(name: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut crc = Crc::new();
    crc.update(name);
    crc.update(data);
    [&(data.len() as u32).to_be_bytes()[..], name, data, &crc.sum().to_be_bytes()].concat()
}

fn zeros(count: usize) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&vec![0; count]).unwrap();
    encoder.finish().unwrap()
}

fn png_file(side: u32, is_interlaced: bool, chunks: &[Vec<u8>]) -> Vec<u8> {
    let mut ihdr = [side.to_be_bytes(), side.to_be_bytes()].concat();
    ihdr.extend([16, 6, 0, 0, u8::from(is_interlaced)]);
    [b"\x89PNG\r\n\x1a\n".to_vec(), chunk(b"IHDR", &ihdr), chunks.concat(), chunk(b"IEND", &[])].concat()
}

#[test]
fn no_file_takes_100_mb() {
    let bomb = zeros(200 << 20);
    let text = [&b"Comment\0\0"[..], &bomb].concat();
    let international = [&b"Comment\0\x01\0\0\0"[..], &bomb].concat();
    let picture = chunk(b"IDAT", &zeros((1 + 8 * 1024) * 1024));
    let cases = [
        ("the largest image", png_file(1024, false, &[picture])),
        ("more image data than the header declares", png_file(1024, false, &[chunk(b"IDAT", &bomb)])),
        ("the same, interlaced", png_file(1024, true, &[chunk(b"IDAT", &bomb)])),
        (
            "text that decompresses to 200 MiB",
            png_file(8, false, &[chunk(b"zTXt", &text), chunk(b"iTXt", &international)]),
        ),
        ("a colour profile that decompresses to 200 MiB", png_file(8, false, &[chunk(b"iCCP", &text)])),
        ("a palette of 150 MiB", png_file(8, false, &[chunk(b"PLTE", &vec![0; 150 << 20])])),
        ("an unknown chunk of 150 MiB", png_file(8, false, &[chunk(b"abCd", &vec![0; 150 << 20])])),
    ];
    for (case, bytes) in cases {
        let peak = peak_bytes(&bytes);
        assert!(peak < 100 << 20, "{case}: {peak} bytes");
    }
    let huge = png_file(10_000, false, &[]);
    let peak = peak_bytes(&huge);
    assert!(peak < 1 << 20, "an image of 10,000x10,000 must be rejected by its header: {peak} bytes");
}
