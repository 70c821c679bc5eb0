extension DemoShow {
    /// Music for its own sake.
    static let tidewater = DemoShow(
        path: "tidewater-sketches", title: "Tidewater Sketches", author: "Mara Ellwood",
        description: """
            Short pieces written at a kitchen table above a small harbour, one a fortnight. No talking. Made for \
            washing up, waiting for trains, and the first coffee of the day.
            """,
        category: "Music", isSerial: false,
        episodes: [
            Episode(
                title: "Rain on the Chain Ferry", published: "Fri, 18 Sep 2026 07:30:00 +0200", season: nil, number: 1,
                description: """
                    <p>A harp figure that started as the sound of drips on the ferry's tin roof. In <b>D dorian</b>, \
                    unhurried.</p>
                    """,
                piece: DemoPiece(
                    seed: 101, root: 62, mode: .dorian, progression: [0, 3, 0, 6], beatsPerMinute: 84, bars: 12,
                    melodyVoice: .harp)),
            Episode(
                title: "What the Lighthouse Keeper Hummed", published: "Fri, 02 Oct 2026 07:30:00 +0200",
                season: nil, number: 2,
                description: """
                    <p>A tune for reed organ, half remembered. In <b>G major</b>. If you know where it comes from, \
                    write in; the keeper will not say.</p>
                    """,
                piece: DemoPiece(
                    seed: 202, root: 55, mode: .major, progression: [0, 5, 3, 4], beatsPerMinute: 92, bars: 16,
                    melodyVoice: .reed)),
            Episode(
                title: "Prélude for an Empty Café", published: "Fri, 16 Oct 2026 07:30:00 +0200", season: nil,
                number: 3,
                description: """
                    <p>Chairs on the tables, one lamp on, the radio off. In <b>A minor</b>, and in no hurry to \
                    leave it.</p>
                    """,
                piece: DemoPiece(
                    seed: 303, root: 57, mode: .minor, progression: [0, 5, 2, 6], beatsPerMinute: 72, bars: 12,
                    melodyVoice: .bell)),
            Episode(
                title: "Gulls, Arguing", published: "Fri, 30 Oct 2026 07:30:00 +0100", season: nil, number: 4,
                description: """
                    <p>The quickest piece so far: two of them, one chip. In <b>F lydian</b>, which is F major with \
                    its eyebrows raised.</p>
                    """,
                piece: DemoPiece(
                    seed: 404, root: 53, mode: .lydian, progression: [0, 1, 0, 4], beatsPerMinute: 116, bars: 16,
                    melodyVoice: .harp)),
            Episode(
                title: "Low Water, First Light", published: "Fri, 13 Nov 2026 07:30:00 +0100", season: nil, number: 5,
                description: """
                    <p>Bells across the mud flats. In <b>E♭ major</b>. The longest sketch of the year, because the \
                    tide was late.</p>
                    """,
                piece: DemoPiece(
                    seed: 505, root: 63, mode: .major, progression: [0, 2, 3, 0, 5, 3, 1, 4], beatsPerMinute: 76,
                    bars: 16, melodyVoice: .bell)),
        ])

    /// A course, to be heard from the beginning.
    static let harmony = DemoShow(
        path: "harmony-in-a-minute", title: "Harmony in a Minute", author: "Teodor Quill",
        description: """
            A course in chords that lets the chords do the explaining. Each lesson is one progression, played until \
            it has made its point. Start with the first.
            """,
        category: "Education", isSerial: true,
        episodes: [
            Episode(
                title: "Four Chords That Get Along", published: "Mon, 05 Oct 2026 18:00:00 +0000", season: 1,
                number: 1,
                description: """
                    <p>One, five, six, four. You have heard these in a thousand songs; here they are on their own.\
                    </p><ul><li>C major</li><li>G major</li><li>A minor</li><li>F major</li></ul>
                    """,
                piece: DemoPiece(
                    seed: 11, root: 60, mode: .major, progression: [0, 4, 5, 3], beatsPerMinute: 100, bars: 12,
                    melodyVoice: .harp)),
            Episode(
                title: "The Long Way Home: Two, Five, One", published: "Mon, 19 Oct 2026 18:00:00 +0000", season: 1,
                number: 2,
                description: """
                    <p>Why the second degree wants the fifth, and the fifth wants the first. In B♭ major, as the \
                    horn players like it.</p>
                    """,
                piece: DemoPiece(
                    seed: 22, root: 58, mode: .major, progression: [1, 4, 0, 0], beatsPerMinute: 96, bars: 12,
                    melodyVoice: .reed)),
            Episode(
                title: "Is It Sad, or Is It Minor?", published: "Mon, 02 Nov 2026 18:00:00 +0000", season: 1, number: 3,
                description: """
                    <p>A minor key with a spring in its step. In E minor, at a walking pace.</p>
                    """,
                piece: DemoPiece(
                    seed: 33, root: 64, mode: .minor, progression: [0, 6, 5, 6], beatsPerMinute: 112, bars: 16,
                    melodyVoice: .harp)),
            Episode(
                title: "The Circle, All the Way Round", published: "Mon, 16 Nov 2026 18:00:00 +0000", season: 1,
                number: 4,
                description: """
                    <p>Seven chords, each a fifth below the one before, until we are back where we began. \
                    In D major.</p>
                    """,
                piece: DemoPiece(
                    seed: 44, root: 62, mode: .major, progression: [0, 3, 6, 2, 5, 1, 4, 0], beatsPerMinute: 88,
                    bars: 16, melodyVoice: .bell)),
        ])
}
