const beforeProject = '{"project":"'
const beforeId = '","id":"'
const beforeTimestamp = '","timestamp":"'
const beforeMessage = '","event_message":"'
const beforeMetadata = '","metadata":'

/** What an entry takes beside its bytes while it is kept. */
const overheadBytes = 256

/**
 * A stored entry on its way to readers: written down once for all of them. It is made from the line that the engine
 * stored, whose members stand in a known order, so nothing of it has to be parsed.
 */
export class LiveEntry {
  readonly cursor: number
  /** The event as it is sent. */
  readonly frame: Buffer
  /** As it stands in JSON; two projects are the same if this is. */
  readonly project: string
  readonly #messageAt: number
  readonly #messageEnd: number
  #searched: string | undefined

  constructor(line: Buffer, cursor: number, id: string) {
    // Bytes as characters: what is copied need not be decoded. A text in JSON never holds a comma before a bare quote.
    const text = line.toString('latin1')
    const projectEnd = text.indexOf(beforeId, beforeProject.length)
    const idEnd = text.indexOf(beforeTimestamp, projectEnd)
    const timestampEnd = text.indexOf(beforeMessage, idEnd)
    const messageEnd = text.indexOf(beforeMetadata, timestampEnd)
    const entryId = text.slice(projectEnd + beforeId.length, idEnd)
    const micros = microsOf(text.slice(idEnd + beforeTimestamp.length, timestampEnd))
    const project = text.slice(beforeProject.length, projectEnd)
    const message = text.slice(timestampEnd + beforeMessage.length, messageEnd)
    // The line ends with the bracket of the row and a newline.
    const metadata = text.slice(messageEnd + beforeMetadata.length, -2)
    const head = `event: entry\nid: ${id}\ndata: {"id":"${entryId}","timestamp":${micros},"project":"${project}","event_message":"`
    this.cursor = cursor
    this.frame = Buffer.from(`${head}${message}","metadata":${metadata}}\n\n`, 'latin1')
    // A text of its own: a part of the other one would keep all of it.
    this.project = line.toString('latin1', beforeProject.length, projectEnd)
    this.#messageAt = head.length
    this.#messageEnd = head.length + message.length
  }

  get bytes(): number {
    return this.frame.length + this.#messageEnd - this.#messageAt + overheadBytes
  }

  /** The message in small letters. */
  get searched(): string {
    this.#searched ??= (
      JSON.parse(`"${this.frame.toString('utf8', this.#messageAt, this.#messageEnd)}"`) as string
    ).toLowerCase()
    return this.#searched
  }
}

/** The engine reads seconds with six decimals; one second alone is written as a date. */
function microsOf(timestamp: string): number {
  if (timestamp.startsWith('1969-12-31 ')) return Number(timestamp.slice(-6)) - 1_000_000
  return Number(timestamp.replace('.', ''))
}

/** The form in which the project of an entry is compared. */
export function projectInJson(project: string): string {
  return Buffer.from(JSON.stringify(project).slice(1, -1)).toString('latin1')
}
