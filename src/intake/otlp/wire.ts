import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import type { OtlpBudget } from './value.ts'

type ReadField = (field: number, type: WireType) => boolean

/**
 * Protobuf by hand, field by field: the schema is small and stable, and what is read goes straight into its final
 * shape. Each method reads the value of the field whose wire type it is given.
 */
export class OtlpWire {
  readonly budget: OtlpBudget
  readonly #reader: BinaryReader

  constructor(body: Buffer, budget: OtlpBudget) {
    this.budget = budget
    this.#reader = new BinaryReader(body)
  }

  /** Calls `read` for each field of the whole body; what it does not know (false) is skipped. */
  body(read: ReadField): void {
    this.#fields(this.#reader.len, read)
  }

  /** The same for a message inside of a field. */
  message(type: WireType, read: ReadField): void {
    expectType(type, WireType.LengthDelimited)
    const length = this.#reader.uint32()
    this.#fields(this.#reader.pos + length, read)
  }

  text(type: WireType): string {
    expectType(type, WireType.LengthDelimited)
    return this.#reader.string()
  }

  bytes(type: WireType): Buffer {
    expectType(type, WireType.LengthDelimited)
    const view = this.#reader.bytes()
    return Buffer.from(view.buffer, view.byteOffset, view.byteLength)
  }

  bool(type: WireType): boolean {
    expectType(type, WireType.Varint)
    return this.#reader.bool()
  }

  int32(type: WireType): number {
    expectType(type, WireType.Varint)
    return this.#reader.int32()
  }

  uint32(type: WireType): number {
    expectType(type, WireType.Varint)
    return this.#reader.uint32()
  }

  int64(type: WireType): bigint {
    expectType(type, WireType.Varint)
    return BigInt(this.#reader.int64())
  }

  fixed32(type: WireType): number {
    expectType(type, WireType.Bit32)
    return this.#reader.fixed32()
  }

  fixed64(type: WireType): bigint {
    expectType(type, WireType.Bit64)
    return BigInt(this.#reader.fixed64())
  }

  double(type: WireType): number {
    expectType(type, WireType.Bit64)
    return this.#reader.double()
  }

  #fields(end: number, read: ReadField): void {
    while (this.#reader.pos < end) {
      this.budget.field()
      const [field, type] = this.#reader.tag()
      if (!read(field, type)) this.#reader.skip(type, field)
    }
    // The reader knows only the end of the body: a field may not reach beyond its own message.
    if (this.#reader.pos !== end) throw new Error('a field is longer than its message')
  }
}

/** Skipping a known field of the wrong type, as some parsers do, would lose what was sent without a word. */
function expectType(type: WireType, expected: WireType): void {
  if (type !== expected) throw new Error(`a field has the wire type ${type} where ${expected} is due`)
}
