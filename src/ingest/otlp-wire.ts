import { type BinaryReader, WireType } from '@bufbuild/protobuf/wire'

/** Calls `read` for each field up to `end`; what it does not know (false) is skipped. */
export function eachField(
  reader: BinaryReader,
  end: number,
  read: (field: number, type: WireType) => boolean,
): void {
  while (reader.pos < end) {
    const [field, type] = reader.tag()
    if (!read(field, type)) reader.skip(type, field)
  }
  // The reader knows only the end of the body: a field may not reach beyond its own message.
  if (reader.pos !== end) throw new Error('a field is longer than its message')
}

export function endOf(reader: BinaryReader, type: WireType): number {
  expectType(type, WireType.LengthDelimited)
  const length = reader.uint32()
  return reader.pos + length
}

export function text(reader: BinaryReader, type: WireType): string {
  expectType(type, WireType.LengthDelimited)
  return reader.string()
}

export function bytes(reader: BinaryReader, type: WireType): Buffer {
  expectType(type, WireType.LengthDelimited)
  const view = reader.bytes()
  return Buffer.from(view.buffer, view.byteOffset, view.byteLength)
}

export function fixed64(reader: BinaryReader, type: WireType): bigint {
  expectType(type, WireType.Bit64)
  return BigInt(reader.fixed64())
}

/** Skipping a known field of the wrong type, as some parsers do, would lose what was sent without a word. */
export function expectType(type: WireType, expected: WireType): void {
  if (type !== expected) throw new Error(`a field has the wire type ${type} where ${expected} is due`)
}
