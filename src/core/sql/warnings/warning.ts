import { z } from 'zod'

export const warningCodes = [
  'undeclared_parameter',
  'unused_parameter',
  'unknown_path',
  'cast_hides_missing',
  'alias_shadows_column',
  'unbounded_time',
  'current_time',
  'mixed_intervals',
  'no_order',
  'bytes_as_text',
  'slow_path',
] as const

/** SQL that is valid but probably does not mean what its author intends. */
export const warningShape = z.object({
  code: z.enum(warningCodes).describe('What is probably wrong, for programs.'),
  message: z.string().describe('What is probably wrong and what to write instead, for people.'),
  line: z.int().min(1).describe('Line in the SQL as it was sent, from 1.'),
  column: z.int().min(1).describe('Column in the SQL as it was sent, from 1.'),
})

export const warningsView = z
  .array(warningShape)
  .describe('SQL that is valid but probably wrong. It does not prevent saving.')

export type Warning = z.output<typeof warningShape>

export interface Finding extends Pick<Warning, 'code' | 'message'> {
  /** Index of its token; -1 for the start of the SQL. */
  at: number
}
