import { Document, Scalar, visit } from 'yaml'
import type { EndpointDefinition, Incremental, ParameterDeclaration } from './definition.ts'
import { formatDuration } from './duration.ts'
import { shownParameter } from './shown-parameter.ts'

/** The text of an endpoint's file, which reads back to the very same definition. */
export function formatDefinition(definition: EndpointDefinition): string {
  const { cache_seconds, warm_seconds, timeout_seconds, incremental } = definition
  const parameters = Object.entries(definition.parameters).map(([name, declaration]) => [
    name,
    withoutDefaults(declaration),
  ])
  const header = new Document({
    id: definition.id,
    ...(definition.description !== '' && { description: definition.description }),
    ...(parameters.length > 0 && { parameters: Object.fromEntries(parameters) }),
    max_rows: definition.max_rows,
    cache: cache_seconds === null ? 'none' : formatDuration(cache_seconds),
    ...(warm_seconds !== null && { warm: formatDuration(warm_seconds) }),
    ...(incremental && { incremental: withoutAbsent(incremental) }),
    timeout: formatDuration(timeout_seconds),
    ...(definition.json.length > 0 && { json: definition.json }),
    ...(definition.sandbox && { sandbox: true }),
  })
  visit(header, {
    Scalar(_key, node) {
      if (typeof node.value === 'string' && !isPlain(node.value)) node.type = Scalar.QUOTE_DOUBLE
    },
  })
  return `/*\n${keepInComment(header.toString({ lineWidth: 0 }))}*/\n${definition.query}\n`
}

function withoutDefaults(declaration: ParameterDeclaration) {
  const { type, required, empty_is_omitted, description, ...given } = shownParameter(declaration)
  return {
    ...(type !== 'string' && { type }),
    ...(required && { required }),
    ...given,
    ...(empty_is_omitted && { empty_is_omitted }),
    ...(description !== '' && { description }),
  }
}

function withoutAbsent({ column, whole_buckets, by, spans, otherwise }: Incremental) {
  return {
    column,
    ...(whole_buckets && { whole_buckets }),
    ...(by !== null && { by }),
    ...(Object.keys(spans).length > 0 && { spans }),
    ...(otherwise !== null && { otherwise }),
  }
}

/** Only double quotes can hold every character, on one line and with the marks of a comment escaped. */
function isPlain(value: string): boolean {
  return /^[\x20-\x7e\u00a1-\u167f]*$/.test(value) && !/\/\*|\*\//.test(value)
}

function keepInComment(yaml: string): string {
  return yaml.replaceAll('/*', '/\\x2a').replaceAll('*/', '*\\/')
}
