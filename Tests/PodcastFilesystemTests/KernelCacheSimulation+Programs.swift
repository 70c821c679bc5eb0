import PodcastLibrary

@testable import Fuse
@testable import PodcastFilesystem

// The simulated programs, which look up, list, open and read episodes. Each call of `advance` executes one step of a
// program, and simulates how the filesystem and the kernel respond to it.
extension KernelCacheSimulation {
    mutating func begin() {
        guard programs.count < 6 else { return }
        let episode = Int.random(in: 0..<rows.count, using: &generator)
        lastProgram += 1
        let step: Program.Step
        if chance(4) {
            step = .listing(change: cache.changes.last)
        } else if let node = names[episode], inodes[node] != nil, !chance(4) {
            programs[lastProgram] = Program(episode: episode, node: node, step: .opening, row: rows[episode])
            return
        } else {
            step = .lookingUp
        }
        programs[lastProgram] = Program(
            episode: episode, node: NodeNumber(rows[episode]), step: step, row: rows[episode])
    }

    mutating func advance(_ id: Int) {
        guard var program = programs[id] else { return }
        programs[id] = nil
        if act(id, &program) { programs[id] = program }
    }

    /// - Returns: Whether the program continues.
    mutating func act(_ id: Int, _ program: inout Program) -> Bool {
        let number = program.node
        switch program.step {
        case .lookingUp:
            return receive(reply(facts(of: rows[program.episode])), &program)
        case .listing(let change):
            let isCurrent = cache.isCurrent(since: change)
            let row = isCurrent || !cache.isOutdated(number, since: change) ? program.row : rows[program.episode]
            // `program.row` may be older than a change that the daemon has not reported yet. The report of that change
            // invalidates the attributes.
            return receive(reply(facts(of: row)), &program)
        case .receivingEntry(let reply):
            accept(reply)
            names[program.episode] = reply.facts.number
            return false
        case .opening:
            let row = rows[program.episode]
            guard NodeNumber(row) == number else {
                names[program.episode] = nil
                return false
            }
            guard row.sizeSource == .server else {
                program.step = .asking(guess: EpisodeSize(bytes: row.size, source: row.sizeSource))
                return true
            }
            program.total = row.size
            if row.complete { program.preference = .passthrough }
            push(row.size, id, &program)
        case .asking(let guess):
            guard NodeNumber(rows[program.episode]) == number else { return false }
            guard let size = sizes[program.episode] else {
                program.preference = .direct
                messages.append(
                    Message(invalidation: .attributes(number), waiter: (id, .answering(isInvalidated: true))))
                program.step = .waiting
                return true
            }
            program.total = size
            if rows[program.episode].sizeSource != .server {
                writes.append((program.episode, number.generation, size))
            }
            cache.grants.add(size, of: number, replacing: guess, now: now)
            cache.changes.add(number.episode)
            push(size, id, &program)
        case .waiting: break
        case .answering(let isInvalidated):
            if chance(20) {
                // The calling program no longer waits.
                if !isInvalidated { answered(number) }
                return false
            }
            let needsInvalidation = cache.access(number, at: now)
            lastBacking += 1
            let backing = chance(3) ? nil : BackingID(rawValue: lastBacking)
            program.mode = cache.open(number, program.preference) { backing }
            if !isInvalidated { answered(number) }
            program.step = .replying(program.mode)
            if needsInvalidation, !isInvalidated {
                messages.append(Message(invalidation: .attributes(number), waiter: (id, .replying(program.mode))))
                program.step = .waiting
            }
        case .replying(let mode):
            if chance(20) {
                // The calling program was killed before the reply.
                close(number)
                return false
            }
            open(number, mode)
            let isCached = program.mode == .cached
            program.step = program.total == nil ? .closing : isCached && chance(2) ? .reading(0) : .checkingSize
        case .checkingSize:
            // fstat(2)
            guard let inode = inodes[number], inode.isValid else {
                program.step = .receivingSize(answer(number, total: program.total))
                return true
            }
            check(inode.size, &program)
        case .receivingSize(let reply):
            accept(reply)
            // fstat(2) returns the attributes in the reply, even if the kernel does not cache them.
            check(reply.facts.size, &program)
        case .reading(let offset):
            // As in the kernel's fuse_cache_read_iter: request the attributes if the read goes beyond the cached size
            // and they are no longer valid.
            if let inode = inodes[number], offset + 1 > inode.size, !inode.isValid {
                program.step = .receivingEnd(answer(number, total: program.total), offset: offset)
            } else {
                read(at: offset, &program)
            }
        case .receivingEnd(let reply, let offset):
            accept(reply)
            read(at: offset, &program)
        case .loadingPage(let offset, let asked):
            loadPage(offset, asked, &program)
        case .closing:
            release(number, program.mode)
            close(number)
            return false
        }
        return true
    }

    /// Handles a reply to a lookup or a listing. Returns whether the program continues.
    ///
    /// A new inode is created at once. In reality, time passes between the reply and the creation. The kernel ignores
    /// an invalidation of the node that arrives in that time, so the filesystem sends it again after the reply.
    mutating func receive(_ reply: Reply, _ program: inout Program) -> Bool {
        if inodes[reply.facts.number] != nil {
            program.step = .receivingEntry(reply)
            return true
        }
        accept(reply)
        names[program.episode] = reply.facts.number
        return false
    }

    mutating func check(_ size: Int64, _ program: inout Program) {
        if size != program.total { failures.append("fstat returns \(size) of \(program)") }
        program.step = program.mode == .cached ? .reading(0) : .closing
    }

    mutating func read(at offset: Int64, _ program: inout Program) {
        if let size = inodes[program.node]?.size, offset >= size {
            end(at: offset, program)
            program.step = .closing
        } else {
            program.step = .loadingPage(offset, version: version)
        }
    }

    /// Answers the read of a page as the filesystem does, and handles the answer as the kernel does (fuse_short_read).
    mutating func loadPage(_ offset: Int64, _ asked: Int, _ program: inout Program) {
        let number = program.node
        if offset < program.total ?? 0 {
            program.step = .reading(offset + 1)
            return
        }
        if cache.refusesTail(offset..<(offset + 1), of: number) {
            // The filesystem refuses the first read of the page, which it takes for readahead. The kernel then reads
            // the page again, because the program needs it.
            program.step = .loadingPage(offset, version: version)
            return
        }
        if let inode = inodes[number], inode.version <= asked, offset < inode.size {
            version += 1
            inodes[number]?.size = offset
            inodes[number]?.version = version
        }
        if let size = inodes[number]?.size, offset < size {
            failures.append("zeros at \(offset) of \(program)")
            program.step = .closing
        } else {
            program.step = .reading(offset)
        }
    }

    mutating func end(at offset: Int64, _ program: Program) {
        completed += 1
        if offset != program.total { failures.append("ends at \(offset): \(program)") }
    }

    /// Opens a handle, and checks its mode by the rules of fs/fuse/iomode.c.
    mutating func open(_ number: NodeNumber, _ mode: HandleMode.IOMode) {
        guard let inode = inodes[number] else {
            failures.append("a node is open that the kernel does not have")
            return
        }
        modes["\(mode)".prefix { $0.isLetter }.description, default: 0] += 1
        let fits: Bool
        switch mode {
        case .cached:
            fits = inode.backings.isEmpty && inode.direct == 0
            inodes[number]?.cached += 1
        case .direct:
            fits = inode.backings.isEmpty && inode.cached == 0
            inodes[number]?.direct += 1
        case .passthrough(let backing):
            fits = inode.cached == 0 && inode.direct == 0 && inode.backings.allSatisfy { $0 == backing }
            inodes[number]?.backings.append(backing)
        }
        if !fits { failures.append("the kernel refuses \(mode) beside \(inode)") }
    }

    mutating func release(_ number: NodeNumber, _ mode: HandleMode.IOMode) {
        switch mode {
        case .cached: inodes[number]?.cached -= 1
        case .direct: inodes[number]?.direct -= 1
        case .passthrough: inodes[number]?.backings.removeLast()
        }
    }

    mutating func answered(_ number: NodeNumber) {
        if cache.answered(number) { send([.attributes(number)]) }
    }

    mutating func close(_ number: NodeNumber) {
        let isCachedNow = cache.close(number)
        if cache.access(number, at: now) || isCachedNow {
            messages.append(Message(invalidation: .attributes(number)))
        }
    }
}
