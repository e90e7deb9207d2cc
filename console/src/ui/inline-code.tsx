import { Fragment } from 'react'

/** Text with `code`. Links are only their text, because the service does not serve the other pages. */
export function InlineCode({ text }: { text: string }) {
  const plain = text.replace(/\[([^[\]]+)\]\([^()]+\)/g, '$1')
  return plain.split(/`([^`]*)`/).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text have no other name
    <Fragment key={index}>{index % 2 === 1 ? <code>{part}</code> : part}</Fragment>
  ))
}
