import { type Compression, canCompressNow, isCompressible } from '../base/compressed.ts'
import { contentTag } from '../base/text/content-tag.ts'

/** The result of a call: the finished body, and what it took to compute it. */
export interface Result {
  readonly body: Buffer
  readonly contentType: string
  /** 0 if the format does not allow counting. */
  readonly rows: number
  readonly truncated: boolean
  readonly queueMs: number
  readonly engineMs: number
  readonly rowsRead: number | undefined
  readonly bytesRead: number | undefined
}

type ContentCoding = 'identity' | Compression

/** A result in one content coding. Strong ETags differ between codings. */
interface ResultForm {
  readonly coding: ContentCoding
  readonly body: Buffer
  readonly etag: string
}

/** Compresses the result and adds the form. If a request waits for it, it is made at once. */
type MakeForm = (result: CachedResult, coding: Compression, isAwaited: boolean) => Promise<void>

/** A result with its compressed forms. */
export class CachedResult implements Result {
  readonly contentType: string
  readonly rows: number
  readonly truncated: boolean
  readonly queueMs: number
  readonly engineMs: number
  readonly rowsRead: number | undefined
  readonly bytesRead: number | undefined
  /** The same for the same bytes, on every node. */
  readonly tag: string
  /** The tags of all forms, made or not: If-None-Match may name any of them. */
  readonly etags: readonly string[]
  readonly #identity: ResultForm
  readonly #forms: { [coding in Compression]?: ResultForm } = {}
  readonly #requested = new Map<Compression, Promise<void>>()
  readonly #make: MakeForm

  constructor(computed: Result, make: MakeForm) {
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

  get bytes(): number {
    return this.body.length + (this.#forms.gzip?.body.length ?? 0) + (this.#forms.br?.body.length ?? 0)
  }

  /** The requested form, or the plain one while the requested form is being made. */
  form(coding: ContentCoding): ResultForm {
    if (coding === 'identity') return this.#identity
    const form = this.#forms[coding]
    if (form !== undefined) return form
    this.#request(coding, false)
    return this.#identity
  }

  /** Waits until the requested form is made, unless too many requests wait for a compression. */
  async made(coding: ContentCoding): Promise<ResultForm> {
    if (coding === 'identity' || !canCompressNow()) return this.form(coding)
    this.#request(coding, true)
    await this.#requested.get(coding)
    return this.#forms[coding] ?? this.#identity
  }

  #request(coding: Compression, isAwaited: boolean): void {
    if (!isCompressible(this.contentType, this.body) || this.#requested.has(coding)) return
    this.#requested.set(coding, this.#make(this, coding, isAwaited))
  }

  /** Makes the forms that the previous result has, or copies them if the bytes are the same. */
  inherit(previous: CachedResult): void {
    for (const [coding, request] of previous.#requested) {
      const form = previous.tag === this.tag ? previous.#forms[coding] : undefined
      if (form === undefined) this.#request(coding, false)
      else {
        this.#requested.set(coding, request)
        this.#forms[coding] = form
      }
    }
  }

  add(coding: Compression, body: Buffer): void {
    this.#forms[coding] = { coding, body: ownBytes(body), etag: `"${this.tag}-${coding}"` }
  }
}

/** A slice would keep its whole buffer in memory, which nothing accounts for. */
function ownBytes(body: Buffer): Buffer {
  if (body.buffer.byteLength === body.length) return body
  const copy = Buffer.allocUnsafeSlow(body.length)
  body.copy(copy)
  return copy
}
