import { type BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { invalidBody } from '../../base/errors.ts'
import type { Kind } from './message.ts'

const { Varint, Bit32, Bit64, LengthDelimited } = WireType

/** An integer of 64 bits comes as a bigint or as text. */
type Integer = number | bigint | string

export const int32 = integer(Varint, (reader) => reader.int32(), Number, 32, true)
export const uint32 = integer(Varint, (reader) => reader.uint32(), Number, 32)
export const fixed32 = integer(Bit32, (reader) => reader.fixed32(), Number, 32)
export const fixed64 = integer(Bit64, (reader) => reader.fixed64(), BigInt, 64)
export const int64 = integer(Varint, (reader) => reader.int64(), safeInteger, 64, true)
export const double = scalar(Bit64, (reader) => doubleValue(reader.double()), doubleOf)
export const bool = scalar(Varint, (reader) => reader.bool(), boolOf)
export const text = scalar(LengthDelimited, (reader) => reader.string(), textOf)
export const base64 = scalar(LengthDelimited, (reader) => bytesOf(reader).toString('base64'), base64Of)
export const id = scalar(LengthDelimited, (reader) => hexId(bytesOf(reader).toString('hex')), idOf)

function scalar(
  type: WireType,
  wire: (reader: BinaryReader) => unknown,
  json: (value: unknown, name: string) => unknown,
): Kind {
  return { type, repeated: false, read: (input) => input.scalar(wire, json) }
}

function integer(
  type: WireType,
  wire: (reader: BinaryReader) => Integer,
  of: (value: Integer) => unknown,
  bits: 32 | 64,
  signed = false,
): Kind {
  const min = signed ? -(2n ** BigInt(bits - 1)) : 0n
  const max = min + 2n ** BigInt(bits) - 1n
  const json = (value: unknown, name: string) => {
    const isInteger = typeof value === 'string' ? /^-?\d{1,20}$/.test(value) : Number.isInteger(value)
    const read = isInteger ? BigInt(value as Integer) : undefined
    if (read !== undefined && read >= min && read <= max) return of(read)
    throw invalidBody(`${name} must be an integer from ${min} to ${max}.`)
  }
  return scalar(type, (reader) => of(wire(reader)), json)
}

function safeInteger(value: Integer): number | string {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

function textOf(value: unknown, name: string): string {
  if (typeof value !== 'string') throw invalidBody(`${name} must be a string.`)
  return value
}

function boolOf(value: unknown, name: string): boolean {
  if (typeof value !== 'boolean') throw invalidBody(`${name} must be true or false.`)
  return value
}

function doubleOf(value: unknown, name: string): number | string {
  if (typeof value === 'number') return doubleValue(value)
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN
  if (Number.isNaN(number) && value !== 'NaN') throw invalidBody(`${name} must be a number.`)
  return doubleValue(number)
}

/** Text for NaN, infinity, and doubles that JSON would write as an integer beyond 64 bits, which the engine cannot read. */
function doubleValue(value: number): number | string {
  const size = Math.abs(value)
  return Number.isFinite(value) && (size < 2 ** 63 || size >= 1e21) ? value : String(value)
}

function base64Of(value: unknown, name: string): string {
  const encoded = textOf(value, name)
  if (!/^[\w+/-]*={0,2}$/.test(encoded)) throw invalidBody(`${name} must be base64.`)
  return Buffer.from(encoded, 'base64').toString('base64')
}

function idOf(value: unknown, name: string): string {
  const hex = textOf(value, name)
  if (!/^[0-9a-f]*$/i.test(hex)) throw invalidBody(`${name} must be hexadecimal.`)
  return hexId(hex)
}

/** An id of zeros means that there is none. */
function hexId(hex: string): string {
  return /[^0]/.test(hex) ? hex.toLowerCase() : ''
}

function bytesOf(reader: BinaryReader): Buffer {
  const view = reader.bytes()
  return Buffer.from(view.buffer, view.byteOffset, view.byteLength)
}
