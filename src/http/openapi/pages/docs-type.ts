import type { FieldSchema } from './docs-operation.ts'

/** A schema in a few words. */
export function typeText(schema: FieldSchema): string {
  const { enum: values, default: preset } = schema
  const allowed = values === undefined ? '' : `: ${values.map((value) => `\`${String(value)}\``).join(', ')}`
  const unless = preset === undefined ? '' : `, else \`${String(preset)}\``
  return `${kindText(schema)}${allowed}${unless}`
}

function kindText({ $ref, type, format, items, anyOf }: FieldSchema): string {
  if ($ref !== undefined) return $ref.slice($ref.lastIndexOf('/') + 1)
  if (anyOf) return anyOf.map(kindText).join(' or ')
  if (type === undefined) return 'anything'
  if (type === 'array' && items) return `list of ${kindText(items)}`
  const kinds = [type].flat().join(' or ')
  return format === undefined ? kinds : `${kinds} (${format})`
}
