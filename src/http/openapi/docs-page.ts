import type { DescribedOperation, FieldSchema, OpenApiDocument } from './document.ts'

type PageOperation = DescribedOperation & { method: string; path: string }

export function docsPage(document: OpenApiDocument): string {
  const { info, tags } = document
  const groups = tags.map((tag) => ({ ...tag, operations: operationsOf(document, tag.name) }))
  const links = groups.map(({ name }) => `<li><a href="#${anchor(name)}">${escaped(name)}</a></li>`)
  const sections = groups.map(
    ({ name, description, operations }) =>
      `<section><h2 id="${anchor(name)}">${escaped(name)}</h2><p>${inline(description)}</p>` +
      `${operations.map((operation) => operationHtml(document, operation)).join('\n')}</section>`,
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(info.title)}</title>
<link rel="stylesheet" href="docs/style.css">
</head>
<body>
<header><h1>${escaped(info.title)} ${escaped(info.version)}</h1>
<p>${inline(info.description)}
For programs: <a href="openapi.json">openapi.json</a>. With a token, it has the endpoints that the token can call.</p></header>
<nav aria-label="Groups"><ul>${links.join('')}</ul></nav>
<main>
${sections.join('\n')}
</main>
</body>
</html>
`
}

function operationsOf({ paths }: OpenApiDocument, tag: string): PageOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .map(([method, operation]) => ({ ...operation, method, path }))
      .filter(({ tags }) => tags.includes(tag)),
  )
}

function operationHtml(document: OpenApiDocument, operation: PageOperation): string {
  const { method, path, summary, description, parameters = [], responses } = operation
  const paragraphs = description.split('\n\n').map((text) => `<p>${inline(text)}</p>`)
  return `<details id="${escaped(operation.operationId)}"><summary><code class="method">${method.toUpperCase()}</code>
<code>${escaped(path)}</code><span>${inline(summary)}</span></summary>
${paragraphs.join('')}
${table(
  'Parameters',
  ['Name', 'In', 'Type', 'Meaning'],
  parameters.map(({ name, in: place, required, schema, description: meaning }) => [
    code(name),
    place,
    ...fieldCells(schema, meaning, required),
  ]),
)}
${bodyHtml(document, operation)}
${table(
  'Responses',
  ['Status', 'Meaning'],
  Object.entries(responses).map(([status, response]) => {
    const { description: meaning } = resolved(document, response) as { description: string }
    return [code(status === 'default' ? 'other' : status), inline(meaning)]
  }),
)}</details>`
}

function bodyHtml(document: OpenApiDocument, { requestBody }: DescribedOperation): string {
  const { schema, example } = requestBody?.content['application/json'] ?? {}
  if (!schema) return ''
  const { anyOf } = resolved(document, schema) as { anyOf?: object[] }
  const { properties = {}, required = [] } = resolved(document, anyOf?.[0] ?? schema) as FieldSchema
  const fields = Object.entries(properties).filter(([, field]) => field.readOnly !== true)
  const rows = fields.map(([name, field]) => [
    code(name),
    ...fieldCells(field, field.description, required.includes(name)),
  ])
  const shown = `<h3>Example body</h3><pre><code>${escaped(JSON.stringify(example, null, 2))}</code></pre>`
  return `${table('Body', ['Field', 'Type', 'Meaning'], rows)}${shown}`
}

function fieldCells(schema: FieldSchema, meaning = '', required = false): string[] {
  return [inline(typeText(schema)), inline(`${required ? 'Required. ' : ''}${meaning}`.trimEnd())]
}

function resolved(document: OpenApiDocument, part: object): object {
  const pointer = '$ref' in part ? String(part.$ref) : undefined
  if (pointer === undefined) return part
  const [, , group = '', ...name] = pointer.split('/')
  return (document.components[group]?.[name.join('/')] ?? {}) as object
}

/** Cells are HTML. */
function table(title: string, columns: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return ''
  const cells = (tag: string, texts: readonly string[]) =>
    `<tr>${texts.map((text) => `<${tag}>${text}</${tag}>`).join('')}</tr>`
  const head = columns.map(escaped)
  return `<h3>${escaped(title)}</h3><div class="table"><table><thead>${cells('th', head)}</thead><tbody>${rows
    .map((row) => cells('td', row))
    .join('')}</tbody></table></div>`
}

function code(text: string): string {
  return `<code>${escaped(text)}</code>`
}

function inline(text: string): string {
  return escaped(text).replace(/`([^`]*)`/g, '<code>$1</code>')
}

function anchor(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, '-')
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => entities[sign] as string)
}

function typeText(schema: FieldSchema): string {
  const { enum: values, default: preset } = schema
  const allowed = values === undefined ? '' : `: ${values.map((value) => `\`${String(value)}\``).join(', ')}`
  const unless = preset === undefined ? '' : `; default \`${String(preset)}\``
  return `${kindText(schema)}${allowed}${unless}`
}

function kindText({ $ref, type, format, items, anyOf }: FieldSchema): string {
  if ($ref !== undefined) return $ref.slice($ref.lastIndexOf('/') + 1)
  if (anyOf) return anyOf.map(kindText).join(' or ')
  if (type === undefined) return 'any'
  if (type === 'array' && items) return `list of ${kindText(items)}`
  const kinds = [type].flat().join(' or ')
  return format === undefined ? kinds : `${kinds} (${format})`
}

/** Uses the colors of the reader's system. */
export const docsStyle = `:root { color-scheme: light dark; --line: color-mix(in srgb, CanvasText 20%, Canvas); }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem 4rem; font: 1rem/1.55 system-ui, sans-serif; }
h1 { margin: 0; }
h2 { margin: 2.5rem 0 0.25rem; }
h3 { margin: 1rem 0 0.25rem; font-size: 0.95rem; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; padding: 0; list-style: none; }
code, pre { font: 0.875rem/1.5 ui-monospace, monospace; }
pre { overflow-x: auto; padding: 0.75rem; border: 1px solid var(--line); }
details { border: 1px solid var(--line); border-radius: 0.375rem; margin: 0.5rem 0; padding: 0 0.75rem; }
summary { cursor: pointer; padding: 0.5rem 0; overflow-wrap: anywhere; }
summary span { margin-left: 0.5rem; }
.method { display: inline-block; min-width: 4.5rem; font-weight: 700; }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.375rem 0.75rem 0.375rem 0; border-bottom: 1px solid var(--line); }
`
