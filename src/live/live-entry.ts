import type { JsonPaths } from '../base/json/json-paths.ts'
import { type OwnColumn, StoredEntry } from '../catalog/stored-entry.ts'

const beforeProject = '{"project":"'
const beforeId = '","id":"'
const beforeTimestamp = '","timestamp":"'
const beforeMessage = '","event_message":"'
const beforeMetadata = '","metadata":'

const overheadBytes = 256

/** A stored entry as an event. The members of a stored line have a fixed order, so the line is cut instead of parsed. */
export class LiveEntry {
  readonly cursor: number
  readonly frame: Buffer
  readonly projectInJson: string
  readonly #idAt: number
  readonly #idEnd: number
  readonly #messageAt: number
  readonly #messageEnd: number

  constructor(line: Buffer, cursor: number, id: string) {
    // Latin-1 copies bytes without decoding them. A JSON string never contains the separators, since its quotes are escaped.
    const text = line.toString('latin1')
    const projectEnd = text.indexOf(beforeId, beforeProject.length)
    const idEnd = text.indexOf(beforeTimestamp, projectEnd)
    const timestampEnd = text.indexOf(beforeMessage, idEnd)
    const messageEnd = text.indexOf(beforeMetadata, timestampEnd)
    const entryId = text.slice(projectEnd + beforeId.length, idEnd)
    const micros = microsOf(text.slice(idEnd + beforeTimestamp.length, timestampEnd))
    const project = text.slice(beforeProject.length, projectEnd)
    const message = text.slice(timestampEnd + beforeMessage.length, messageEnd)
    // The line ends with a brace and a newline.
    const metadata = text.slice(messageEnd + beforeMetadata.length, -2)
    const beforeEntryId = `event: entry\nid: ${id}\ndata: {"id":"`
    const head = `${beforeEntryId}${entryId}","timestamp":${micros},"project":"${project}","event_message":"`
    this.cursor = cursor
    this.frame = Buffer.from(`${head}${message}","metadata":${metadata}}\n\n`, 'latin1')
    // A new string, since a slice would keep the whole line in memory.
    this.projectInJson = line.toString('latin1', beforeProject.length, projectEnd)
    this.#idAt = beforeEntryId.length
    this.#idEnd = beforeEntryId.length + entryId.length
    this.#messageAt = head.length
    this.#messageEnd = head.length + message.length
  }

  get bytes(): number {
    return this.frame.length + overheadBytes
  }

  stored(paths: JsonPaths): StoredEntry {
    const metadata = this.frame.subarray(this.#messageEnd + beforeMetadata.length, this.frame.length - 3)
    return new StoredEntry((column) => this.#read(column), metadata, paths)
  }

  #read(column: OwnColumn): string {
    if (column === 'id') return this.#text(this.#idAt, this.#idEnd)
    if (column === 'event_message') return this.#text(this.#messageAt, this.#messageEnd)
    return JSON.parse(`"${Buffer.from(this.projectInJson, 'latin1').toString()}"`) as string
  }

  #text(start: number, end: number): string {
    return JSON.parse(`"${this.frame.toString('utf8', start, end)}"`) as string
  }
}

/** Timestamps are seconds with six decimals, except for the second before 1970, which is a date. */
function microsOf(timestamp: string): number {
  if (timestamp.startsWith('1969-12-31 ')) return Number(timestamp.slice(-6)) - 1_000_000
  return Number(timestamp.replace('.', ''))
}

/** The form in which projects of entries are compared. */
export function projectInJson(project: string): string {
  return Buffer.from(JSON.stringify(project).slice(1, -1)).toString('latin1')
}
