import { type Compression, canCompressNow, isCompressible } from '../base/compressed.ts'
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

export type ContentCoding = 'identity' | Compression

/** One of the ways in which the same result travels. A strong ETag tells them apart. */
export interface ResultForm {
  readonly coding: ContentCoding
  readonly body: Buffer
  readonly etag: string
}

/** Has a form made, at once for a caller who waits for it, and adds it. */
export type MakeForm = (result: CachedResult, coding: Compression, isAwaited: boolean) => Promise<void>

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
  readonly #wanted = new Map<Compression, Promise<void>>()
  readonly #make: MakeForm

  constructor(computed: Computed, make: MakeForm) {
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
    this.#make = make
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
    this.#want(coding, false)
    return this.#identity
  }

  /**
   * The form that was requested, made first where it is not there and not too many callers wait for theirs. For callers who
   * waited for the result, too.
   */
  async made(coding: ContentCoding): Promise<ResultForm> {
    if (coding === 'identity' || !canCompressNow()) return this.form(coding)
    this.#want(coding, true)
    await this.#wanted.get(coding)
    return this.#forms[coding] ?? this.#identity
  }

  #want(coding: Compression, isAwaited: boolean): void {
    if (!isCompressible(this.contentType, this.body) || this.#wanted.has(coding)) return
    this.#wanted.set(coding, this.#make(this, coding, isAwaited))
  }

  /** Has the forms made that the result before it had, and takes them over where the bytes are the same. */
  inherit(previous: CachedResult): void {
    for (const [coding, wanted] of previous.#wanted) {
      const form = previous.tag === this.tag ? previous.#forms[coding] : undefined
      if (form === undefined) this.#want(coding, false)
      else {
        this.#wanted.set(coding, wanted)
        this.#forms[coding] = form
      }
    }
  }

  add(coding: Compression, body: Buffer): void {
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
