//! Decodes PNGs to 8-bit RGBA, exactly as the server does. The `png` crate only decompresses the
//! image: its own conversion would truncate 16-bit samples, but the server rounds them.

use std::io::Cursor;

use crate::game::Position;

use super::limits::{LayoutError, MAX_SIDE};

/// The memory limit of the PNG decoder, excluding the decoded image. A typical map needs far less.
const PNG_LIMIT_BYTES: usize = 16 << 20;

#[derive(Debug)]
pub(super) struct Picture {
    pub width: u32,
    pub height: u32,
    /// The red, green, blue and alpha values of each pixel, row by row.
    pub pixels: Vec<[u8; 4]>,
}

/// Decodes a PNG of any kind. Checks the width and height before it decompresses the image.
pub(super) fn decode_picture(bytes: &[u8]) -> Result<Picture, LayoutError> {
    let invalid = |error: png::DecodingError| LayoutError::Png(error.to_string());
    let limits = png::Limits { bytes: PNG_LIMIT_BYTES };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    // Text chunks and colour profiles do not affect the tiles, but may be large when decompressed.
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let (width, height) = decoder.read_header_info().map_err(invalid)?.size();
    if width > MAX_SIDE || height > MAX_SIDE {
        return Err(LayoutError::TooLarge { width, height });
    }

    let mut reader = decoder.read_info().map_err(invalid)?;
    let frame_bytes = reader.output_buffer_size().ok_or(LayoutError::TooLarge { width, height })?;
    let mut frame = vec![0; frame_bytes];
    let output = reader.next_frame(&mut frame).map_err(invalid)?;
    if (output.width, output.height) != (width, height) {
        return Err(LayoutError::PartialFrame);
    }
    // Read to the end of the file, so that a truncated file is an error.
    reader.finish().map_err(invalid)?;

    let raw = RawImage {
        samples: &frame,
        line_bytes: output.line_size,
        color_type: output.color_type,
        depth: output.bit_depth,
        palette: reader.info().palette.as_deref().unwrap_or_default(),
        transparency: reader.info().trns.as_deref(),
    };
    let places = (0..height as usize).flat_map(|y| (0..width as usize).map(move |x| (x, y)));
    let pixels = places.map(|(x, y)| raw.rgba(x, y)).collect::<Result<_, _>>()?;
    Ok(Picture { width, height, pixels })
}

/// A decompressed image. Every sample has `depth` bits, and every row starts at a byte boundary.
struct RawImage<'a> {
    samples: &'a [u8],
    line_bytes: usize,
    color_type: png::ColorType,
    depth: png::BitDepth,
    palette: &'a [u8],
    /// The `tRNS` chunk: the alpha values of the first palette colours, or the transparent colour.
    transparency: Option<&'a [u8]>,
}

impl RawImage<'_> {
    fn sample(&self, y: usize, index: usize) -> u16 {
        let line = &self.samples[y * self.line_bytes..][..self.line_bytes];
        match self.depth {
            png::BitDepth::Sixteen => u16::from_be_bytes([line[2 * index], line[2 * index + 1]]),
            png::BitDepth::Eight => u16::from(line[index]),
            depth => {
                let bits = depth as usize;
                let first_bit = index * bits;
                let shift = 8 - bits - first_bit % 8;
                u16::from(line[first_bit / 8] >> shift) & ((1 << bits) - 1)
            }
        }
    }

    /// Scales a sample to 8 bits as the server does: `floor(sample * 255 / max + 0.5)`.
    fn scaled(&self, sample: u16) -> u8 {
        let max = (1_u32 << self.depth as u32) - 1;
        ((u32::from(sample) * 510 + max) / (2 * max)) as u8
    }

    fn rgba(&self, x: usize, y: usize) -> Result<[u8; 4], LayoutError> {
        let channels = self.color_type.samples();
        let mut raw = [0; 4];
        for (channel, sample) in raw.iter_mut().enumerate().take(channels) {
            *sample = self.sample(y, x * channels + channel);
        }
        let [r, g, b, a] = raw.map(|sample| self.scaled(sample));
        Ok(match self.color_type {
            png::ColorType::Grayscale => [r, r, r, self.keyed_alpha(&raw[..1])],
            png::ColorType::GrayscaleAlpha => [r, r, r, g],
            png::ColorType::Rgb => [r, g, b, self.keyed_alpha(&raw[..3])],
            png::ColorType::Rgba => [r, g, b, a],
            png::ColorType::Indexed => self.palette_rgba(raw[0], x, y)?,
        })
    }

    /// Returns 0 if the unscaled samples are equal to the transparent colour, otherwise 255.
    fn keyed_alpha(&self, raw: &[u16]) -> u8 {
        let Some(key) = self.transparency else {
            return 255;
        };
        let is_key = match self.depth {
            png::BitDepth::Sixteen => raw.iter().flat_map(|sample| sample.to_be_bytes()).eq(key.iter().copied()),
            _ => raw.iter().copied().eq(key.iter().map(|&byte| u16::from(byte))),
        };
        if is_key { 0 } else { 255 }
    }

    fn palette_rgba(&self, index: u16, x: usize, y: usize) -> Result<[u8; 4], LayoutError> {
        let at = usize::from(index);
        let [r, g, b] = *self
            .palette
            .as_chunks::<3>()
            .0
            .get(at)
            .ok_or(LayoutError::NotInPalette { index, position: Position::new(x as i32, y as i32) })?;
        let alpha = self.transparency.and_then(|alphas| alphas.get(at)).copied().unwrap_or(255);
        Ok([r, g, b, alpha])
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Crc, write::ZlibEncoder};
    use png::{BitDepth, ColorType};
    use proptest::prelude::*;

    use super::*;

    /// The header of a PNG built by hand: the `png` crate cannot write interlaced or damaged PNGs.
    #[derive(Clone, Copy, Debug)]
    struct Header {
        width: u32,
        height: u32,
        depth: u8,
        color_type: u8,
        is_interlaced: bool,
    }

    /// The first column, first row, column step and row step of each pass of Adam7 interlacing.
    const ADAM7: [[usize; 4]; 7] =
        [[0, 0, 8, 8], [4, 0, 8, 8], [0, 4, 4, 8], [2, 0, 4, 4], [0, 2, 2, 4], [1, 0, 2, 2], [0, 1, 1, 2]];

    fn chunk(name: &[u8; 4], data: &[u8]) -> Vec<u8> {
        let mut crc = Crc::new();
        crc.update(name);
        crc.update(data);
        [&(data.len() as u32).to_be_bytes()[..], name, data, &crc.sum().to_be_bytes()].concat()
    }

    fn zlib(data: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn png_file(header: Header, chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
        let Header { width, height, depth, color_type, is_interlaced } = header;
        let mut ihdr = [width.to_be_bytes(), height.to_be_bytes()].concat();
        ihdr.extend([depth, color_type, 0, 0, u8::from(is_interlaced)]);
        let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
        bytes.extend(chunk(b"IHDR", &ihdr));
        for (name, data) in chunks {
            bytes.extend(chunk(name, data));
        }
        bytes.extend(chunk(b"IEND", &[]));
        bytes
    }

    fn pack(header: Header, channels: usize, samples: &[u16]) -> Vec<u8> {
        let (width, height, depth) = (header.width as usize, header.height as usize, usize::from(header.depth));
        let passes = if header.is_interlaced { &ADAM7[..] } else { &[[0, 0, 1, 1]] };
        let mut bytes = Vec::new();
        for &[left, top, step_x, step_y] in passes {
            for y in (top..height).step_by(step_y).filter(|_| left < width) {
                bytes.push(0);
                let mut bits = String::new();
                for x in (left..width).step_by(step_x) {
                    for sample in &samples[channels * (y * width + x)..][..channels] {
                        bits += &format!("{sample:0depth$b}");
                    }
                }
                let bytes_of_row = bits.as_bytes().chunks(8);
                bytes.extend(bytes_of_row.map(|bits| {
                    u8::from_str_radix(&format!("{:0<8}", std::str::from_utf8(bits).unwrap()), 2).unwrap()
                }));
            }
        }
        bytes
    }

    const KINDS: [(u8, ColorType, usize); 15] = [
        (1, ColorType::Grayscale, 1),
        (2, ColorType::Grayscale, 1),
        (4, ColorType::Grayscale, 1),
        (8, ColorType::Grayscale, 1),
        (16, ColorType::Grayscale, 1),
        (8, ColorType::Rgb, 3),
        (16, ColorType::Rgb, 3),
        (1, ColorType::Indexed, 1),
        (2, ColorType::Indexed, 1),
        (4, ColorType::Indexed, 1),
        (8, ColorType::Indexed, 1),
        (8, ColorType::GrayscaleAlpha, 2),
        (16, ColorType::GrayscaleAlpha, 2),
        (8, ColorType::Rgba, 4),
        (16, ColorType::Rgba, 4),
    ];

    fn server_scale(sample: u16, depth: u8) -> u8 {
        let max = f64::from((1_u32 << depth) - 1);
        (f64::from(sample) * 255.0 / max + 0.5).floor() as u8
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn every_kind_is_decoded_as_the_server_does(
            kind in 0..KINDS.len(),
            width in 1..14_u32,
            height in 1..14_u32,
            is_interlaced: bool,
            has_transparency: bool,
            seed in prop::collection::vec(any::<u16>(), 14 * 14 * 4),
            palette in prop::collection::vec(any::<[u8; 3]>(), 256),
            alphas in prop::collection::vec(any::<u8>(), 1..256),
        ) {
            let (depth, color_type, channels) = KINDS[kind];
            let header = Header { width, height, depth, color_type: color_type as u8, is_interlaced };
            let mask = ((1_u32 << depth) - 1) as u16;
            let count = (width * height) as usize * channels;
            let samples: Vec<u16> = seed[..count].iter().map(|sample| sample & mask).collect();
            let is_indexed = color_type == ColorType::Indexed;
            let has_alpha = matches!(color_type, ColorType::GrayscaleAlpha | ColorType::Rgba);
            let colors = if is_indexed { usize::from(mask) + 1 } else { 0 };
            let key: Vec<u8> = samples[..channels].iter().flat_map(|sample| sample.to_be_bytes()).collect();
            let alphas = &alphas[..alphas.len().min(colors)];
            let plte: Vec<u8> = palette[..colors].concat();
            let data = zlib(&pack(header, channels, &samples));
            let mut chunks: Vec<(&[u8; 4], &[u8])> = Vec::new();
            if is_indexed {
                chunks.push((b"PLTE", &plte));
            }
            if has_transparency && !has_alpha {
                chunks.push((b"tRNS", if is_indexed { alphas } else { &key }));
            }
            chunks.push((b"IDAT", &data));

            let expected: Vec<[u8; 4]> = samples.chunks(channels).map(|pixel| {
                let scaled: Vec<u8> = pixel.iter().map(|&sample| server_scale(sample, depth)).collect();
                let keyed = if has_transparency && pixel == &samples[..channels] { 0 } else { 255 };
                match (color_type, &scaled[..]) {
                    (ColorType::Indexed, _) => {
                        let index = usize::from(pixel[0]);
                        let [r, g, b] = palette[index];
                        let alpha = alphas.get(index).copied().filter(|_| has_transparency);
                        [r, g, b, alpha.unwrap_or(255)]
                    }
                    (_, &[v]) => [v, v, v, keyed],
                    (_, &[v, a]) => [v, v, v, a],
                    (_, &[r, g, b]) => [r, g, b, keyed],
                    (_, scaled) => [scaled[0], scaled[1], scaled[2], scaled[3]],
                }
            }).collect();
            let picture = decode_picture(&png_file(header, &chunks)).unwrap();
            prop_assert_eq!((picture.width, picture.height), (width, height));
            prop_assert_eq!(picture.pixels, expected);
        }

        #[test]
        fn arbitrary_content_does_not_panic(
            width in 0..40_u32,
            height in 0..40_u32,
            depth in prop::sample::select(vec![0_u8, 1, 2, 3, 4, 8, 16, 255]),
            color_type in 0..8_u8,
            is_interlaced: bool,
            chunks in prop::collection::vec((
                prop::sample::select(vec![*b"PLTE", *b"tRNS", *b"IDAT", *b"acTL", *b"fcTL", *b"fdAT", *b"bKGD", *b"sBIT", *b"IHDR"]),
                prop::collection::vec(any::<u8>(), 0..40),
            ), 0..5),
            content in prop::collection::vec(any::<u8>(), 0..4000),
        ) {
            let header = Header { width, height, depth, color_type, is_interlaced };
            let content = zlib(&content);
            let mut chunks: Vec<(&[u8; 4], &[u8])> = chunks.iter().map(|(name, data)| (name, &data[..])).collect();
            chunks.push((b"IDAT", &content));
            let _ = decode_picture(&png_file(header, &chunks));
        }
    }

    #[test]
    fn sixteen_bit_samples_are_rounded() {
        let raw = |depth| RawImage {
            samples: &[],
            line_bytes: 0,
            color_type: ColorType::Grayscale,
            depth,
            palette: &[],
            transparency: None,
        };
        for depth in [BitDepth::One, BitDepth::Two, BitDepth::Four, BitDepth::Eight, BitDepth::Sixteen] {
            for sample in 0..=((1_u32 << depth as u32) - 1) as u16 {
                assert_eq!(raw(depth).scaled(sample), server_scale(sample, depth as u8), "{sample} in {depth:?}");
            }
        }
        // Truncation would scale 0xFF7E to its high byte, 255. The server rounds it to 254.
        let alpha = |sample| raw(BitDepth::Sixteen).scaled(sample);
        assert_eq!([0xFF7F, 0xFF7E, 0xFE7E, 0xFE7D].map(alpha), [255, 254, 254, 253]);
    }

    #[test]
    fn index_outside_the_palette_is_an_error() {
        let header = Header { width: 2, height: 1, depth: 8, color_type: 3, is_interlaced: false };
        let data = zlib(&[0, 0, 2]);
        let bytes = png_file(header, &[(b"PLTE", &[0; 6]), (b"IDAT", &data)]);
        let error = decode_picture(&bytes).unwrap_err().to_string();
        assert_eq!(error, "invalid PNG: colour 2 at (1, 0) is not in its palette");
    }

    #[test]
    fn large_image_is_rejected_by_its_header() {
        let header = Header { width: 10_000, height: 10_000, depth: 8, color_type: 6, is_interlaced: false };
        // The file has no image data, so an attempt to decode it would fail with a different error.
        let error = decode_picture(&png_file(header, &[])).unwrap_err();
        assert!(matches!(error, LayoutError::TooLarge { width: 10_000, height: 10_000 }), "{error}");
        let edge = Header { width: MAX_SIDE, height: 1, ..header };
        let row = zlib(&vec![0; 1 + 4 * MAX_SIDE as usize]);
        assert!(decode_picture(&png_file(edge, &[(b"IDAT", &row)])).is_ok());
        let past = Header { width: MAX_SIDE + 1, ..edge };
        assert!(matches!(decode_picture(&png_file(past, &[])), Err(LayoutError::TooLarge { .. })));
    }
}
