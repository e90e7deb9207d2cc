import type { BinaryReader } from '@bufbuild/protobuf/wire'
import { invalidBody, WellheadError } from '../../base/errors.ts'
import { JsonScanner } from '../../base/json/json-scanner.ts'
import { type OtlpBudget, otlpLimits } from './budget.ts'
import type { Fields, Input } from './message.ts'
import type { OtlpResourceLogs } from './record.ts'
import { readRequest } from './request.ts'

/** OTLP's JSON: names in lowerCamelCase, ids in hex, null as absent. */
class JsonInput implements Input {
  readonly budget: OtlpBudget
  #value: unknown
  #name = 'The body'

  constructor(value: unknown, budget: OtlpBudget) {
    this.#value = value
    this.budget = budget
  }

  scalar(_wire: (reader: BinaryReader) => unknown, json: (value: unknown, name: string) => unknown): unknown {
    return json(this.#value, this.#name)
  }

  message<T>(fields: Fields<T>, target: T, depth: number): T {
    const members = this.#value as Record<string, unknown>
    if (typeof members !== 'object' || members === null || Array.isArray(members)) {
      throw invalidBody(`${this.#name} must be an object.`)
    }
    for (const { name, property, kind } of fields.list) {
      const value = members[name]
      if (value === undefined || value === null) continue
      if (kind.repeated && !Array.isArray(value)) throw invalidBody(`${name} must be an array.`)
      for (const item of kind.repeated ? (value as unknown[]) : [value]) {
        this.#value = item ?? {}
        this.#name = name
        target[property] = kind.read(this, target[property], depth) as T[typeof property]
      }
    }
    return target
  }
}

export function readJsonLogs(body: Buffer, budget: OtlpBudget): OtlpResourceLogs[] {
  return readRequest(new JsonInput(parse(body, budget), budget))
}

/** Also matches inside of strings, which costs a scan and nothing else. */
const mayHaveLongInteger = /[\s:,[]-?\d{16}/

function parse(body: Buffer, budget: OtlpBudget): unknown {
  const text = new TextDecoder().decode(body)
  const mustScan = body.length > otlpLimits.maxFields || mayHaveLongInteger.test(text)
  try {
    return JSON.parse(mustScan ? scan(text, budget) : text)
  } catch (error) {
    if (error instanceof WellheadError) throw error
    // The parser's message quotes the body, which may be long and must not be logged.
    throw invalidBody('The body is not valid JSON.')
  }
}

/**
 * Counts the values before the parser creates them, and quotes integers that a double may not hold: some senders write
 * nanoseconds as numbers.
 */
function scan(text: string, budget: OtlpBudget): string {
  const bytes = Buffer.from(text)
  const scanner = new JsonScanner(bytes)
  const longIntegers: number[] = []
  scanner.longIntegers = longIntegers
  scanner.space()
  scanner.value()
  // Empty containers cost memory, too.
  budget.fields(scanner.values + scanner.emptyContainers)
  let quoted = ''
  let copiedTo = 0
  for (let at = 0; at < longIntegers.length; at += 2) {
    const [start, end] = [longIntegers[at] as number, longIntegers[at + 1] as number]
    quoted += `${bytes.toString('utf8', copiedTo, start)}"${bytes.toString('latin1', start, end)}"`
    copiedTo = end
  }
  return quoted + bytes.toString('utf8', copiedTo)
}
