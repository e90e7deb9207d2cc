import { type Compression, canCompressNow, compressedNow, isCompressible } from '../base/compressed.ts'
import { contentTag } from '../base/text/content-tag.ts'

type Fields = Pick<
  Result,
  'body' | 'contentType' | 'rows' | 'truncated' | 'queueMs' | 'engineMs' | 'rowsRead' | 'bytesRead'
>

export type ContentCoding = 'identity' | Compression

/** A result in one content coding. */
interface ResultForm {
  readonly coding: ContentCoding
  readonly body: Buffer
}

/** Compresses the result and adds the form. If a request waits for it, it is made at once. */
type MakeForm = (result: Result, coding: Compression, isAwaited: boolean) => Promise<void>

/** For the one request that gets a result which is not cached. */
const makeOnce: MakeForm = async (result, coding, isAwaited) => {
  const body = isAwaited ? await compressedNow(coding, result.body) : undefined
  if (body) result.add(coding, body)
}

/** The result of a call: the finished body and its compressed forms, and what it took to compute it. */
export class Result {
  readonly body: Buffer
  readonly contentType: string
  /** 0 if the format does not allow counting. */
  readonly rows: number
  readonly truncated: boolean
  readonly queueMs: number
  readonly engineMs: number
  readonly rowsRead: number | undefined
  readonly bytesRead: number | undefined
  readonly #plain: ResultForm
  readonly #forms: { [coding in Compression]?: ResultForm } = {}
  readonly #requested = new Map<Compression, Promise<void>>()
  readonly #make: MakeForm
  #etags: Readonly<Record<ContentCoding, string>> | undefined

  constructor(fields: Fields, make = makeOnce) {
    this.body = fields.body
    this.contentType = fields.contentType
    this.rows = fields.rows
    this.truncated = fields.truncated
    this.queueMs = fields.queueMs
    this.engineMs = fields.engineMs
    this.rowsRead = fields.rowsRead
    this.bytesRead = fields.bytesRead
    this.#plain = { coding: 'identity', body: fields.body }
    this.#make = make
  }

  /** The same result for a cache, which makes its forms. */
  storedBy(make: MakeForm): Result {
    return new Result({ ...this, body: ownBytes(this.body) }, make)
  }

  withBody(body: Buffer): Result {
    return new Result({ ...this, body })
  }

  get bytes(): number {
    return this.body.length + (this.#forms.gzip?.body.length ?? 0) + (this.#forms.br?.body.length ?? 0)
  }

  /** Of all forms, made or not: If-None-Match may name any of them. The same for the same bytes, on every node. */
  get etags(): Readonly<Record<ContentCoding, string>> {
    if (this.#etags === undefined) {
      const tag = contentTag(`${this.contentType}\n${this.truncated}\n`, this.body)
      this.#etags = { identity: `"${tag}"`, gzip: `"${tag}-gzip"`, br: `"${tag}-br"` }
    }
    return this.#etags
  }

  /** The requested form, or the plain one while the requested form is being made. */
  form(coding: ContentCoding): ResultForm {
    if (coding === 'identity') return this.#plain
    const form = this.#forms[coding]
    if (form !== undefined) return form
    this.#request(coding, false)
    return this.#plain
  }

  /** Waits until the requested form is made, unless too many requests wait for a compression. */
  async made(coding: ContentCoding): Promise<ResultForm> {
    if (coding === 'identity' || !canCompressNow()) return this.form(coding)
    this.#request(coding, true)
    await this.#requested.get(coding)
    return this.#forms[coding] ?? this.#plain
  }

  #request(coding: Compression, isAwaited: boolean): void {
    if (!isCompressible(this.contentType, this.body) || this.#requested.has(coding)) return
    this.#requested.set(coding, this.#make(this, coding, isAwaited))
  }

  /** Makes the forms that the previous result has, or copies them if the bytes are the same. */
  inherit(previous: Result): void {
    for (const [coding, request] of previous.#requested) {
      const isSame = previous.etags.identity === this.etags.identity
      const form = isSame ? previous.#forms[coding] : undefined
      if (form === undefined) this.#request(coding, false)
      else {
        this.#requested.set(coding, request)
        this.#forms[coding] = form
      }
    }
  }

  add(coding: Compression, body: Buffer): void {
    this.#forms[coding] = { coding, body: ownBytes(body) }
  }
}

/** A slice would keep its whole buffer in memory, which nothing accounts for. */
function ownBytes(body: Buffer): Buffer {
  if (body.buffer.byteLength === body.length) return body
  const copy = Buffer.allocUnsafeSlow(body.length)
  body.copy(copy)
  return copy
}
