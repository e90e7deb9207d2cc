import type { ReactNode } from 'react'

/**
 * Headings, lists, paragraphs, code, emphasis and links. Everything else, HTML included, is text: elements are created by
 * React, never from markup, and links lead to http, https, mailto or this service only.
 */
export function Markdown({ text }: { text: string }) {
  return <div className="markdown">{blocksOf(text)}</div>
}

function blocksOf(text: string): ReactNode[] {
  const lines = text.replaceAll('\r\n', '\n').split('\n')
  const blocks: ReactNode[] = []
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] as string
    const key = at
    const take = (isPart: (line: string) => boolean) => {
      const from = at
      while (at < lines.length && isPart(lines[at] as string)) at++
      return lines.slice(from, at)
    }
    const heading = /^(#{1,4}) (.+)$/.exec(line)
    if (line.startsWith('```')) {
      at++
      const code = take((one) => !one.startsWith('```'))
      at++
      blocks.push(<pre key={key}>{code.join('\n')}</pre>)
    } else if (heading) {
      at++
      const Level = `h${Math.min(6, (heading[1] as string).length + 2)}` as 'h3'
      blocks.push(<Level key={key}>{inline(heading[2] as string)}</Level>)
    } else if (bullet.test(line) || numbered.test(line)) {
      const form = bullet.test(line) ? bullet : numbered
      const List = form === bullet ? 'ul' : 'ol'
      const items = take((one) => form.test(one))
      blocks.push(
        <List key={key}>
          {items.map((item, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: equal items are possible
            <li key={index}>{inline(item.replace(form, ''))}</li>
          ))}
        </List>,
      )
    } else if (line.trim() === '') at++
    else {
      at++
      const more = take((one) => one.trim() !== '' && !/^(?:#{1,4} |```)/.test(one) && !bullet.test(one))
      blocks.push(<p key={key}>{inline([line, ...more].join('\n'))}</p>)
    }
  }
  return blocks
}

const bullet = /^ {0,3}[-*+] +/
const numbered = /^ {0,3}\d{1,9}[.)] +/

/** The next span, or text without one. Each match begins where the last one ended, so the time is linear. */
const spans =
  /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\*([^*\s][^*\n]*)\*|\b_([^_\s][^_\n]*)_\b|\[([^\]\n]{1,500})\]\(([^()\s]{1,2000})\)|[^`*_[]+|[\s\S]/gy

function inline(text: string): ReactNode[] {
  return [...text.matchAll(spans)].map((match) => {
    const [whole, code, strong, star, underscore, label, target] = match
    const { index: key } = match
    const emphasis = star ?? underscore
    if (code !== undefined) return <code key={key}>{code}</code>
    if (strong !== undefined) return <strong key={key}>{strong}</strong>
    if (emphasis !== undefined) return <em key={key}>{emphasis}</em>
    if (target === undefined || !isSafe(target)) return whole
    return (
      <a key={key} href={target} rel="noopener noreferrer" target="_blank">
        {label}
      </a>
    )
  })
}

/** Parsed as the browser would, so that no spelling of `javascript:` passes. */
function isSafe(target: string): boolean {
  const base = 'https://wellhead.invalid'
  if (!URL.canParse(target, base)) return false
  return ['http:', 'https:', 'mailto:'].includes(new URL(target, base).protocol)
}
