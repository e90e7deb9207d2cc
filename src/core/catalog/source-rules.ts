import { z } from 'zod'
import { must } from '../base/validation.ts'
import { anyPath } from './metadata-path.ts'

export const maskNames = ['email', 'ip', 'card', 'jwt', 'bearer'] as const

export type MaskName = (typeof maskNames)[number]

const actions = ['drop', 'sample', 'remove', 'redact', 'mask'] as const

export const maxRules = 50
const maxRuleCharacters = 20_000

const search = z.string().trim().min(1, 'must not be empty').max(1_000)

/** A path of metadata, which may begin with `metadata`, or `event_message`. */
const target = anyPath
  .overwrite((path) => (path === 'message' ? 'event_message' : path))
  .refine(
    (path) => !['project', 'id', 'timestamp'].includes(path),
    'must be event_message or a path of metadata',
  )
const inside = target.refine(
  (path) => path !== 'metadata',
  'must be event_message or a path inside of metadata',
)

export const ruleShape = z
  .strictObject({
    drop: search.optional().describe('Drops entries that match this search.'),
    sample: z
      .number()
      .gt(0, 'must be more than 0 and less than 1')
      .lt(1, 'must be more than 0 and less than 1')
      .optional()
      .describe('Keeps this share of the entries, by trace id or else id, so that a trace stays whole.'),
    where: search.optional().describe('Samples only entries that match this search.'),
    remove: inside.optional().describe('Removes the value at this path.'),
    redact: inside.optional().describe('Replaces the value at this path by `[redacted]`.'),
    mask: z
      .array(z.enum(maskNames, must(`one of ${maskNames.join(', ')}`)))
      .min(1)
      .refine((names) => new Set(names).size === names.length, 'must be distinct')
      .optional()
      .describe('Replaces what looks like one of these by its name in brackets.'),
    in: z
      .array(target)
      .min(1)
      .max(20)
      .optional()
      .describe('Paths that are masked. Default: `event_message` and `metadata`.'),
  })
  .refine((rule) => actions.filter((action) => rule[action] !== undefined).length === 1, {
    message: `must have exactly one of ${actions.join(', ')}`,
  })
  .refine(({ where, sample }) => where === undefined || sample !== undefined, {
    message: 'belongs to a rule with sample',
    path: ['where'],
  })
  .refine((rule) => rule.in === undefined || rule.mask !== undefined, {
    message: 'belongs to a rule with mask',
    path: ['in'],
  })

export type Rule = z.output<typeof ruleShape>

export const rulesShape = z
  .array(ruleShape)
  .max(maxRules, `must have at most ${maxRules} rules`)
  .refine(
    (rules) => JSON.stringify(rules).length <= maxRuleCharacters,
    `must have at most ${maxRuleCharacters} characters as JSON`,
  )
  .describe('What happens to entries before they are stored, in order.')
