/** Whether a key is meant for a field. The target of an event from the editor is the element around its shadow root. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0]
  return (
    target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'))
  )
}
