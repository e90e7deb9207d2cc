import { type OtlpBudget, otlpLimits } from './value.ts'

const quote = '"'
const quoteByte = 0x22
const backslash = 0x5c
const marks = new Set(['{', '[', ','].map((mark) => mark.charCodeAt(0)))

/** Outside of a text, since it follows a mark of the syntax; inside of one it costs a second look and no more. */
const perhapsLongInteger = /[\s:,[]-?\d{16}/

const jsonNumber = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g
const longInteger = /^-?\d{16,}$/

/** Spends the budget before the parser makes an object of two bytes, and millions of them, where nothing counts. */
export function countMarks(body: Buffer, budget: OtlpBudget): void {
  if (body.length <= otlpLimits.maxFields) return
  let inText = false
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at] as number
    if (byte === quoteByte) inText = !inText
    else if (inText && byte === backslash) at += 1
    else if (!inText && marks.has(byte)) budget.field()
  }
}

/**
 * JSON.parse, but integers that a double may not hold come as text. OTLP writes 64-bit integers as text anyway, and
 * the senders that write nanoseconds as numbers would lose their last digits.
 */
export function parseExactly(text: string): unknown {
  return JSON.parse(perhapsLongInteger.test(text) ? quoteLongIntegers(text) : text)
}

function quoteLongIntegers(text: string): string {
  let quoted = ''
  let copiedTo = 0
  let at = 0
  while (at < text.length) {
    const found = text.indexOf(quote, at)
    const open = found < 0 ? text.length : found
    if (open - at >= 16) {
      const between = text.slice(at, open)
      const changed = between.replace(jsonNumber, (number) =>
        longInteger.test(number) ? `"${number}"` : number,
      )
      if (changed !== between) {
        quoted += text.slice(copiedTo, at) + changed
        copiedTo = open
      }
    }
    at = closingQuote(text, open) + 1
  }
  return quoted + text.slice(copiedTo)
}

function closingQuote(text: string, open: number): number {
  let at = text.indexOf(quote, open + 1)
  while (at >= 0) {
    let backslashes = 0
    while (text.charCodeAt(at - 1 - backslashes) === backslash) backslashes += 1
    if (backslashes % 2 === 0) return at
    at = text.indexOf(quote, at + 1)
  }
  return text.length
}
