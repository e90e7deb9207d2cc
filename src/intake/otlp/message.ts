import type { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import type { OtlpBudget } from './budget.ts'

/** A value in one of the two encodings of OTLP. */
export interface Input {
  budget: OtlpBudget
  scalar(wire: (reader: BinaryReader) => unknown, json: (value: unknown, name: string) => unknown): unknown
  /** Fills the target with the fields of a message. */
  message<T>(fields: Fields<T>, target: T, depth: number): T
}

/** How a field is read: `before` is the value that its property has so far. */
export interface Kind {
  type: WireType
  repeated: boolean
  read(input: Input, before: unknown, depth: number): unknown
}

export interface Field<T> {
  /** In JSON. */
  name: string
  property: keyof T & string
  kind: Kind
}

export interface Fields<T> {
  list: Field<T>[]
  byNumber: (Field<T> | undefined)[]
}

type FieldRow<T> =
  | readonly [number: number, name: keyof T & string, kind: Kind]
  | readonly [number: number, name: string, kind: Kind, property: keyof T & string]

export function fieldsOf<T>(...rows: readonly FieldRow<T>[]): Fields<T> {
  const fields: Fields<T> = { list: [], byNumber: [] }
  for (const [number, name, kind, property = name as keyof T & string] of rows) {
    const field = { name, property, kind }
    fields.list.push(field)
    fields.byNumber[number] = field
  }
  return fields
}
