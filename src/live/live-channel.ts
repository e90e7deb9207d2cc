import { LiveEntry, projectInJson } from './live-entry.ts'
import { LiveReader, type LiveSink, piecesOf } from './live-reader.ts'
import { LiveRing } from './live-ring.ts'

/** What a reader wants to see of a source; everything where nothing is said. */
export interface LiveFilter {
  project?: string | undefined
  /** Part of the message, in letters of any case. */
  text?: string | undefined
}

/** Readers who want the same get the same bytes. */
interface Group {
  key: string
  project: string | undefined
  text: string | undefined
  readers: Set<LiveReader>
  entries: LiveEntry[]
}

const noGroups: ReadonlySet<Group> = new Set()

/** One source and those who read along. */
export class LiveChannel {
  readonly ring: LiveRing
  readonly #groups = new Map<string, Group>()
  readonly #ofProject = new Map<string, Set<Group>>()
  readonly #ofAll = new Set<Group>()
  #cursor: number

  constructor(nowMs: number) {
    this.#cursor = placeAt(nowMs)
    this.ring = new LiveRing(this.#cursor)
  }

  get hasReaders(): boolean {
    return this.#groups.size > 0
  }

  get cursor(): number {
    return this.#cursor
  }

  /** A place between what came until now and what comes. */
  mark(nowMs: number): number {
    this.#cursor = Math.max(this.#cursor, placeAt(nowMs))
    return this.#cursor
  }

  /** Gives stored lines to all who want them. Each has a place of its own, which grows with the time where few come. */
  deliver(lines: readonly Buffer[], nowMs: number, idOf: (cursor: number) => string, maxRingBytes: number) {
    const touched = new Set<Group>()
    const give = (entry: LiveEntry, groups: ReadonlySet<Group>) => {
      for (const group of groups) {
        if (group.text !== undefined && !entry.searched.includes(group.text)) continue
        group.entries.push(entry)
        touched.add(group)
      }
    }
    for (const line of lines) {
      this.#cursor = Math.max(this.#cursor + 1, placeAt(nowMs))
      const entry = new LiveEntry(line, this.#cursor, idOf(this.#cursor))
      this.ring.push(entry, maxRingBytes)
      give(entry, this.#ofAll)
      give(entry, this.#ofProject.get(entry.project) ?? noGroups)
    }
    for (const group of touched) {
      for (const piece of piecesOf(group.entries)) for (const reader of group.readers) reader.take(piece)
      group.entries = []
    }
  }

  add(filter: LiveFilter, sink: LiveSink, maxPendingBytes: number, cursor: number) {
    const group = this.#groupOf(filter)
    const wants = ({ project, searched }: Pick<LiveEntry, 'project' | 'searched'>) =>
      (group.project === undefined || group.project === project) &&
      (group.text === undefined || searched.includes(group.text))
    const reader = new LiveReader({ sink, ring: this.ring, wants, maxPendingBytes, cursor })
    group.readers.add(reader)
    const leave = () => {
      group.readers.delete(reader)
      if (group.readers.size === 0) this.#forget(group)
    }
    return { reader, leave }
  }

  end(): void {
    for (const { readers } of this.#groups.values()) for (const reader of readers) reader.end()
  }

  #groupOf(filter: LiveFilter): Group {
    const project = filter.project === undefined ? undefined : projectInJson(filter.project)
    const text = filter.text?.toLowerCase() || undefined
    const key = JSON.stringify([project ?? null, text ?? null])
    const known = this.#groups.get(key)
    if (known) return known
    const group: Group = { key, project, text, readers: new Set(), entries: [] }
    this.#groups.set(key, group)
    if (project === undefined) this.#ofAll.add(group)
    else this.#ofProject.set(project, (this.#ofProject.get(project) ?? new Set()).add(group))
    return group
  }

  #forget(group: Group): void {
    this.#groups.delete(group.key)
    this.#ofAll.delete(group)
    if (group.project === undefined) return
    const siblings = this.#ofProject.get(group.project)
    siblings?.delete(group)
    if (siblings?.size === 0) this.#ofProject.delete(group.project)
  }
}

/** A whole number, whatever the time is: it goes through an id and back. */
function placeAt(nowMs: number): number {
  return Math.floor(nowMs * 1000)
}
