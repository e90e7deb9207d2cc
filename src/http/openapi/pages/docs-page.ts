import type { OpenApiDocument } from '../document.ts'
import type { DescribedOperation, FieldSchema } from '../operation.ts'
import { curlOf } from './docs-curl.ts'

type PageOperation = DescribedOperation & { method: string; path: string }

/** The document as plain HTML without scripts. */
export function docsPage(document: OpenApiDocument): string {
  const { info, tags, servers } = document
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
<p>${inline(info.description)} At <code>${escaped(servers[0]?.url ?? '')}</code>.
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
)}
<h3>Example</h3>
<pre><code>${escaped(curlOf(operation, document.servers[0]?.url ?? ''))}</code></pre></details>`
}

function bodyHtml(document: OpenApiDocument, { requestBody }: DescribedOperation): string {
  const schema = requestBody?.content['application/json']?.schema
  if (!schema) return ''
  const { anyOf } = resolved(document, schema) as { anyOf?: object[] }
  const { properties = {}, required = [] } = resolved(document, anyOf?.[0] ?? schema) as FieldSchema
  const fields = Object.entries(properties).filter(([, field]) => field.readOnly !== true)
  return table(
    'Body',
    ['Field', 'Type', 'Meaning'],
    fields.map(([name, field]) => [
      code(name),
      ...fieldCells(field, field.description, required.includes(name)),
    ]),
  )
}

function fieldCells(schema: FieldSchema, meaning = '', required = false): string[] {
  return [inline(typeText(schema)), inline(`${required ? 'Required. ' : ''}${meaning}`.trimEnd())]
}

/** Follows a reference. */
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

/** Text with `code`. */
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

/** A schema in a few words. */
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
