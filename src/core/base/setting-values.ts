import { z } from 'zod'
import { serverAddresses } from './server-addresses.ts'
import { parseDuration } from './text/duration.ts'

export const text = z.string().min(1)

export function number(min: number, max: number, form: RegExp) {
  return z.string().regex(form).transform(Number).pipe(z.number().min(min).max(max))
}

export function wholeNumber(min: number, max: number) {
  return { schema: number(min, max, /^\d{1,7}$/), expected: `a whole number from ${min} to ${max}` }
}

const byteUnits = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 } as const

export const byteSize = z
  .string()
  .regex(/^\d+(\.\d+)?\s*([kmgt]i?b?|b)?$/i)
  .transform((value) => {
    const unit = (/[kmgt]/i.exec(value)?.[0].toLowerCase() ?? '') as keyof typeof byteUnits
    return Math.floor(Number.parseFloat(value) * byteUnits[unit])
  })

export const durationMs = z
  .string()
  .transform((value) => (parseDuration(value) ?? Number.NaN) * 1000)
  .pipe(z.number().max(3650 * 86_400_000))

export const onOrOff = {
  schema: z.enum(['on', 'off']).transform((value) => value === 'on'),
  expected: 'on or off',
}

/** Origins exactly as browsers send them, or a single star. */
export const originList = {
  schema: z
    .string()
    .transform((value) => value.split(',').map((origin) => origin.trim()))
    .refine((origins) => (origins.length === 1 && origins[0] === '*') || origins.every(isOrigin)),
  expected: 'a comma-separated list of origins such as https://app.example.com, or *',
}

export function isOrigin(text: string): boolean {
  return /^https?:[^*]*$/.test(text) && URL.canParse(text) && new URL(text).origin === text
}

export function isAddressList(text: string): boolean {
  try {
    return serverAddresses(text).length > 0
  } catch {
    return false
  }
}

function isJsonArray(value: string): boolean {
  try {
    return Array.isArray(JSON.parse(value))
  } catch {
    return false
  }
}

export const defaultRules = {
  schema: z
    .string()
    .refine(isJsonArray)
    .transform((value): unknown => JSON.parse(value)),
  expected: 'a JSON array of rules such as [{"mask":["card","jwt"]}]',
  description: 'Rules of all sources, applied before their own. Default: none.',
}
