import { contentTag } from '../base/content-tag.ts'

/** What a run gives. */
export interface Computed {
  body: Buffer
  contentType: string
  rows: number
  truncated: boolean
  queueMs: number
  engineMs: number
  rowsRead: number | undefined
  bytesRead: number | undefined
}

export type ContentCoding = 'identity' | 'gzip' | 'br'

/** One of the ways in which the same result travels. A strong ETag tells them apart. */
export interface ResultForm {
  readonly coding: ContentCoding
  readonly body: Buffer
  readonly etag: string
}

export type Compression = Exclude<ContentCoding, 'identity'>

/** Smaller bodies fit into one packet as they are. */
const minCompressedBytes = 1024

/** A finished result: its bytes, and their compressed forms as soon as somebody wanted them. */
export class CachedResult {
  readonly contentType: string
  readonly rows: number
  readonly truncated: boolean
  readonly queueMs: number
  readonly engineMs: number
  readonly rowsRead: number | undefined
  readonly bytesRead: number | undefined
  /** The same for the same bytes, whenever and wherever they were computed. */
  readonly tag: string
  /** Of every form that it could have: who holds any of them holds this result. */
  readonly etags: readonly string[]
  readonly #identity: ResultForm
  readonly #forms: { [coding in Compression]?: ResultForm } = {}
  readonly #wanted = new Set<Compression>()
  readonly #onWanted: (result: CachedResult, coding: Compression) => void

  constructor(computed: Computed, onWanted: (result: CachedResult, coding: Compression) => void) {
    this.contentType = computed.contentType
    this.rows = computed.rows
    this.truncated = computed.truncated
    this.queueMs = computed.queueMs
    this.engineMs = computed.engineMs
    this.rowsRead = computed.rowsRead
    this.bytesRead = computed.bytesRead
    const body = ownBytes(computed.body)
    this.tag = contentTag(`${computed.contentType}\n${computed.truncated}\n`, body)
    this.etags = [`"${this.tag}"`, `"${this.tag}-gzip"`, `"${this.tag}-br"`]
    this.#identity = { coding: 'identity', body, etag: `"${this.tag}"` }
    this.#onWanted = onWanted
  }

  get body(): Buffer {
    return this.#identity.body
  }

  /** Of all forms that are there. */
  get bytes(): number {
    return this.body.length + (this.#forms.gzip?.body.length ?? 0) + (this.#forms.br?.body.length ?? 0)
  }

  /** The form that was asked for, or the plain one while that is not there; asking has it made. */
  form(coding: ContentCoding): ResultForm {
    if (coding === 'identity') return this.#identity
    const form = this.#forms[coding]
    if (form !== undefined) return form
    this.want(coding)
    return this.#identity
  }

  want(coding: Compression): void {
    if (this.body.length < minCompressedBytes || this.#wanted.has(coding)) return
    this.#wanted.add(coding)
    this.#onWanted(this, coding)
  }

  /** Has the forms made that the result before it had, and takes them over where the bytes are the same. */
  inherit(previous: CachedResult): void {
    for (const coding of previous.#wanted) {
      const form = previous.tag === this.tag ? previous.#forms[coding] : undefined
      if (form === undefined) this.want(coding)
      else {
        this.#wanted.add(coding)
        this.#forms[coding] = form
      }
    }
  }

  /** A form that is not smaller is of no use. */
  add(coding: Compression, body: Buffer): void {
    if (body.length >= this.body.length) return
    this.#forms[coding] = { coding, body: ownBytes(body), etag: `"${this.tag}-${coding}"` }
  }
}

/** A small buffer may be a piece of a large one, which would be kept along with it and counted by nobody. */
function ownBytes(body: Buffer): Buffer {
  if (body.buffer.byteLength === body.length) return body
  const copy = Buffer.allocUnsafeSlow(body.length)
  body.copy(copy)
  return copy
}
