//! Previews: events are where they belong, files are small and valid, bad input is an error.

use std::io::Cursor;

use spikelet_events::preview::Preview;
use spikelet_events::{ErrorKind, EventBuffer, Sensor};

fn events(list: &[(i64, u16, u16, bool)]) -> EventBuffer {
    let mut events = EventBuffer::default();
    for &(t, x, y, p) in list {
        events.push(t, x, y, p);
    }
    events
}

/// The size and the colors, with opacity, of a PNG file.
fn decode(png: &[u8]) -> (usize, usize, Vec<[u8; 4]>) {
    let mut decoder = png::Decoder::new(Cursor::new(png));
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::ALPHA);
    let mut reader = decoder.read_info().expect("a PNG file");
    let mut bytes = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut bytes).expect("an image");
    let (colors, _) = bytes.as_chunks::<4>();
    (info.width as usize, info.height as usize, colors.to_vec())
}

/// The image in an SVG.
fn image(svg: &str) -> (usize, usize, Vec<[u8; 4]>) {
    use base64::prelude::{BASE64_STANDARD, Engine};
    let (_, data) = svg.split_once("data:image/png;base64,").expect("an image");
    let (data, _) = data.split_once('"').expect("the end of the image");
    decode(&BASE64_STANDARD.decode(data).expect("base64"))
}

fn is_blue([r, _, b, alpha]: [u8; 4]) -> bool {
    b > r && alpha > 100 && b > 100
}

fn is_orange([r, _, b, alpha]: [u8; 4]) -> bool {
    r > b && alpha > 100 && r > 100
}

#[test]
fn an_animation_has_the_events_in_its_frames() {
    // Times need not be sorted.
    let events = events(&[(99, 3, 2, false), (0, 1, 0, true), (50, 0, 1, true)]);
    let preview = Preview {
        title: "a <b> & \"c\"\u{1}",
        frames: 2,
        ..Preview::new(&events, Sensor::new(4, 3))
    };
    let svg = preview.svg().expect("an animation");
    let document = roxmltree::Document::parse(&svg).expect("XML");
    let title = document
        .descendants()
        .find(|node| node.has_tag_name("title"));
    assert_eq!(title.and_then(|title| title.text()), Some("a <b> & \"c\""));
    assert!(svg.contains("steps(2)") && svg.contains("translateY(-6px)"));
    assert!(svg.contains("3 events in 0.000 s"));
    let (width, height, colors) = image(&svg);
    assert_eq!((width, height), (4, 6));
    for (at, &color) in colors.iter().enumerate() {
        match (at % 4, at / 4) {
            (1, 0) | (0, 4) => assert!(is_blue(color), "{at}: {color:?}"),
            (3, 5) => assert!(is_orange(color), "{at}: {color:?}"),
            _ => assert_eq!(color[3], 0, "{at}"),
        }
    }
}

#[test]
fn a_sheet_has_the_frames_row_by_row() {
    let all: Vec<_> = (0..6).map(|k| (k, k as u16, 0, true)).collect();
    let events = events(&all);
    let preview = Preview {
        frames: 6,
        ..Preview::new(&events, Sensor::new(128, 128))
    };
    let (width, height, colors) = decode(&preview.png().expect("a sheet"));
    assert_eq!((width, height), (3 * 132 - 4, 2 * 132 - 4));
    let found: Vec<_> = (0..colors.len())
        .filter(|&at| is_blue(colors[at]))
        .collect();
    let place = |k: usize| k / 3 * 132 * width + k % 3 * 132 + k;
    assert_eq!(found, (0..6).map(place).collect::<Vec<_>>());
    // The gaps are transparent.
    assert_eq!((colors[128][3], colors[127][3]), (0, 255));
}

#[test]
fn a_raster_plot_has_channel_0_at_the_bottom() {
    let events = events(&[(0, 0, 0, true), (1_000_000, 69, 0, true)]);
    let preview = Preview::new(&events, Sensor::new(70, 1));
    let svg = preview.svg().expect("a plot");
    roxmltree::Document::parse(&svg).expect("XML");
    for text in [">0 ms<", ">1000 ms<", ">60<", "70 channels"] {
        assert!(svg.contains(text), "{text}");
    }
    let (width, height, colors) = image(&svg);
    let found: Vec<_> = (0..colors.len())
        .filter(|&at| is_blue(colors[at]))
        .collect();
    assert_eq!(found, [width - 1, (height - 1) * width]);
    let (_, tall, colors) = decode(&preview.png().expect("a plot"));
    assert_eq!(
        (tall, colors.iter().filter(|&&color| is_blue(color)).count()),
        (350, 20)
    );
}

#[test]
fn drawings_of_large_sensors_and_much_noise_are_small() {
    let mut state = 1_u64;
    let mut noise = EventBuffer::default();
    for t in 0..1_000_000 {
        state = state
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        let (x, y) = (state >> 40 & 1023, state >> 50 & 511);
        noise.push(t, x as u16, y as u16, state >> 33 & 1 == 1);
    }
    let preview = Preview {
        frames: 100,
        ..Preview::new(&noise, Sensor::new(1280, 720))
    };
    let svg = preview.svg().expect("an animation");
    assert!((100_000..2_000_000).contains(&svg.len()), "{}", svg.len());
    assert!(preview.png().expect("a sheet").len() < 4_000_000);
}

#[test]
fn recordings_without_events_and_all_times_are_drawn() {
    let extreme = [
        (i64::MIN, 0, 0, true),
        (i64::MAX, 1, 0, false),
        (0, 1, 0, true),
    ];
    for list in [&[][..], &[(7, 0, 0, false)], &extreme] {
        let events = events(list);
        for sensor in [
            Sensor::new(2, 1),
            Sensor::new(2, 2),
            Sensor::new(65_536, 65_536),
        ] {
            let preview = Preview::new(&events, sensor);
            roxmltree::Document::parse(&preview.svg().expect("a drawing")).expect("XML");
            decode(&preview.png().expect("a picture"));
        }
    }
}

#[test]
fn bad_settings_and_events_are_errors() {
    let events = events(&[(0, 2, 0, true)]);
    let preview = Preview::new(&events, Sensor::new(4, 4));
    let kind = |preview: Preview<'_>| *preview.svg().expect_err("bad input").kind;
    for frames in [0, 101] {
        let found = kind(Preview { frames, ..preview });
        assert!(matches!(found, ErrorKind::Setting { .. }));
    }
    for sensor in [Sensor::new(0, 4), Sensor::new(4, 70_000)] {
        let found = kind(Preview { sensor, ..preview });
        assert!(matches!(found, ErrorKind::Setting { .. }));
    }
    let sensor = Sensor::new(2, 4);
    let found = kind(Preview { sensor, ..preview });
    assert!(matches!(found, ErrorKind::Outside { .. }));
    let error = preview.write("x.gif").expect_err("another format");
    assert!(error.to_string().contains("svg, png"), "{error}");
}
