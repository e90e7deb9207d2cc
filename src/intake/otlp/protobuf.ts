import { BinaryReader } from '@bufbuild/protobuf/wire'
import { invalidBody, WellheadError } from '../../base/errors.ts'
import type { OtlpBudget } from './budget.ts'
import type { Fields, Input } from './message.ts'
import type { OtlpResourceLogs } from './record.ts'
import { readRequest } from './request.ts'

/** Unknown fields are skipped, so that newer senders are understood. */
class ProtobufInput implements Input {
  readonly budget: OtlpBudget
  readonly #reader: BinaryReader
  /** The length of the request, which no field says. */
  #length: number | undefined

  constructor(body: Buffer, budget: OtlpBudget) {
    this.budget = budget
    this.#reader = new BinaryReader(body)
    this.#length = body.length
  }

  scalar(wire: (reader: BinaryReader) => unknown): unknown {
    return wire(this.#reader)
  }

  message<T>(fields: Fields<T>, target: T, depth: number): T {
    const reader = this.#reader
    const length = this.#length ?? reader.uint32()
    this.#length = undefined
    const end = reader.pos + length
    while (reader.pos < end) {
      this.budget.fields(1)
      const [number, type] = reader.tag()
      const field = fields.byNumber[number]
      if (field === undefined) {
        reader.skip(type, number)
        continue
      }
      const { property, kind } = field
      // Skipping a known field of the wrong type, as some parsers do, would lose data silently.
      if (type !== kind.type) throw new Error(`field ${number} has wire type ${type} instead of ${kind.type}`)
      target[property] = kind.read(this, target[property], depth) as T[typeof property]
    }
    // The reader only checks the end of the body.
    if (reader.pos !== end) throw new Error('a field is longer than its message')
    return target
  }
}

export function readProtobufLogs(body: Buffer, budget: OtlpBudget): OtlpResourceLogs[] {
  try {
    return readRequest(new ProtobufInput(body, budget))
  } catch (error) {
    if (error instanceof WellheadError) throw error
    // The reader has no error class of its own, and nothing here fails except for what was sent.
    throw invalidBody(`The body is not a valid OTLP logs request in protobuf: ${(error as Error).message}.`)
  }
}
