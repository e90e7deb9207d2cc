import type { z } from 'zod'
import type { JsonSchema } from '../base/validation.ts'
import type { Reader } from '../definitions/visibility.ts'

/** A tool for agents: it lists rows, and changes nothing. Callers with a role have it. */
export interface ServiceTool {
  name: string
  title: string
  description: string
  input: z.ZodObject
  row: JsonSchema
  /** How to get fewer rows, as a sentence. */
  narrow: string
  rows(input: Record<string, unknown>, reader: Reader): Promise<object[]>
}
