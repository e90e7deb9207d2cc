import { z } from 'zod'
import { ruleShape } from '../../catalog/source-rules.ts'

/** Parameters of paths with the name of a source. */
export const sourceName = z.object({
  name: z.string().meta({ description: 'Name of the source.', example: 'edge_logs' }),
})

export const appliedRule = z.object({
  rule: ruleShape.describe('The rule.'),
  origin: z.enum(['deployment', 'source']).describe('Whether all sources have it, or only this one.'),
  entries: z.int().describe('Number of entries that it dropped or changed.'),
})
export const appliedRules = z.array(appliedRule)
