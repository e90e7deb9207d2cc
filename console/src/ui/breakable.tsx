import { Fragment } from 'react'

/** A name that may go on in the next line behind its dots and underscores, and nowhere else. */
export function Breakable({ text }: { text: string }) {
  const pieces = text.split(/(?<=[._:/-])/)
  return pieces.map((piece, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: pieces of one text have no other name
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {piece}
    </Fragment>
  ))
}
