/** Tells changes of a page from texts that its editor reported, which come back late, when the user may have typed more. */
export function reportedTexts() {
  let awaited: string[] = []
  return {
    /** The user changed the text of the editor while the page has `known`. */
    report(text: string, known: string): void {
      // What the page has comes back only if it has not yet, and later texts not at all.
      if (text === known) awaited.length = awaited.lastIndexOf(text) + 1
      else awaited.push(text)
    },
    /** Whether the page changed the text, which the editor therefore shows. */
    isChange(text: string, shown: string): boolean {
      const back = awaited.lastIndexOf(text)
      if (back >= 0) {
        awaited = awaited.slice(back + 1)
        return false
      }
      if (text === shown) return false
      awaited = []
      return true
    },
  }
}
