import type { OpenApiDocument } from '../document.ts'
import { curlOf } from './docs-curl.ts'
import type { DescribedOperation, FieldSchema } from './docs-operation.ts'
import { typeText } from './docs-type.ts'

/** The document as a page: plain HTML that needs no script, made from the same words. */
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
For programs: <a href="openapi.json">openapi.json</a>, which with a token has the endpoints that it may call.</p></header>
<nav aria-label="Groups"><ul>${links.join('')}</ul></nav>
<main>
${sections.join('\n')}
</main>
</body>
</html>
`
}

function operationsOf({ paths }: OpenApiDocument, tag: string): DescribedOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .map(([method, operation]) => ({ ...(operation as DescribedOperation), method, path }))
      .filter(({ tags }) => tags.includes(tag)),
  )
}

function operationHtml(document: OpenApiDocument, operation: DescribedOperation): string {
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
    place === 'query' ? 'address' : place,
    inline(typeText(schema)),
    inline([required ? 'Required.' : '', meaning].filter(Boolean).join(' ')),
  ]),
)}
${bodyHtml(document, operation)}
${table(
  'Answers',
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
      inline(typeText(field)),
      inline([required.includes(name) ? 'Required.' : '', field.description].filter(Boolean).join(' ')),
    ]),
  )
}

/** What a reference to a part of the document stands for. */
function resolved(document: OpenApiDocument, part: object): object {
  const pointer = '$ref' in part ? String(part.$ref) : undefined
  if (pointer === undefined) return part
  const [, , group = '', ...name] = pointer.split('/')
  return (document.components[group]?.[name.join('/')] ?? {}) as object
}

/** Its cells are HTML already. */
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

/** Text with `code` in it. */
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
