extension DemoShow {
    /// A show of independent episodes.
    static let tidewater = DemoShow(
        path: "tidewater-sketches", title: "Tidewater Sketches", author: "Mara Ellwood",
        description: "Two tones an episode, once a fortnight. No talking.",
        category: "Music", isSerial: false,
        episodes: [
            Episode(
                title: "Rain on the Chain Ferry", published: "Fri, 18 Sep 2026 07:30:00 +0200", number: 1,
                description: "<p>A fourth: <b>D</b> and <b>G</b>.</p>",
                audio: DemoAudio(low: 294, high: 392, seconds: 38)),
            Episode(
                title: "What the Lighthouse Keeper Hummed", published: "Fri, 02 Oct 2026 07:30:00 +0200",
                number: 2, description: "<p>A fifth: <b>G</b> and <b>D</b>.</p>",
                audio: DemoAudio(low: 196, high: 294, seconds: 45)),
            Episode(
                title: "Prélude for an Empty Café", published: "Fri, 16 Oct 2026 07:30:00 +0200", number: 3,
                description: "<p>A minor third: <b>A</b> and <b>C</b>.</p>",
                audio: DemoAudio(low: 220, high: 262, seconds: 43)),
            Episode(
                title: "Gulls, Arguing", published: "Fri, 30 Oct 2026 07:30:00 +0100", number: 4,
                description: "<p>A tritone: <b>F</b> and <b>B</b>.</p>",
                audio: DemoAudio(low: 349, high: 494, seconds: 37)),
            Episode(
                title: "Low Water, First Light", published: "Fri, 13 Nov 2026 07:30:00 +0100", number: 5,
                description: "<p>An octave of <b>E flat</b>.</p>",
                audio: DemoAudio(low: 156, high: 311, seconds: 54)),
        ])

    /// A serial show, to be played from the first episode on.
    static let harmony = DemoShow(
        path: "harmony-in-a-minute", title: "Harmony in a Minute", author: "Teodor Quill",
        description: "A course in intervals. Start with the first lesson.",
        category: "Education", isSerial: true,
        episodes: [
            Episode(
                title: "Four Chords That Get Along", published: "Mon, 05 Oct 2026 18:00:00 +0000", season: 1,
                number: 1, description: "<p>The major third:</p><ul><li>C</li><li>E</li></ul>",
                audio: DemoAudio(low: 262, high: 330, seconds: 32)),
            Episode(
                title: "The Long Way Home: Two, Five, One", published: "Mon, 19 Oct 2026 18:00:00 +0000", season: 1,
                number: 2, description: "<p>The fourth, from C to F.</p>",
                audio: DemoAudio(low: 262, high: 349, seconds: 33)),
            Episode(
                title: "Is It Sad, or Is It Minor?", published: "Mon, 02 Nov 2026 18:00:00 +0000", season: 1, number: 3,
                description: "<p>The minor third, from E to G.</p>",
                audio: DemoAudio(low: 330, high: 392, seconds: 38)),
            Episode(
                title: "The Circle, All the Way Round", published: "Mon, 16 Nov 2026 18:00:00 +0000", season: 1,
                number: 4, description: "<p>The fifth, from D to A.</p>",
                audio: DemoAudio(low: 294, high: 440, seconds: 47)),
        ])
}
