import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import type { Extension } from '@codemirror/state'
import { Decoration, EditorView, MatchDecorator, ViewPlugin } from '@codemirror/view'
import { tags } from '@lezer/highlight'

const color = (name: string) => `var(--${name})`

const highlight = HighlightStyle.define([
  { tag: tags.keyword, color: color('code-keyword') },
  { tag: [tags.string, tags.special(tags.string)], color: color('code-string') },
  { tag: [tags.number, tags.bool, tags.null], color: color('code-number') },
  { tag: [tags.lineComment, tags.blockComment], color: color('code-comment'), fontStyle: 'italic' },
  { tag: [tags.standard(tags.name), tags.typeName], color: color('code-function') },
])

/** All colors are variables of the page, so that the theme can change without the editor. */
export function sqlTheme(height: number): Extension {
  return [
    syntaxHighlighting(highlight),
    EditorView.theme({
      '&': { fontSize: '13px', color: color('text'), backgroundColor: 'transparent' },
      '&.cm-focused': { outline: 'none' },
      '.cm-scroller': {
        fontFamily: color('mono'),
        lineHeight: '20px',
        minHeight: `${height}px`,
        maxHeight: `var(--editor-height, max(${height}px, 32vh))`,
      },
      '.cm-content': { padding: '10px 0', caretColor: color('text') },
      '.cm-gutters': { backgroundColor: 'transparent', color: color('faint'), border: 'none' },
      '.cm-cursor': { borderLeftColor: color('text') },
      '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
        backgroundColor: 'color-mix(in srgb, var(--accent) 24%, transparent)',
      },
      '.cm-matchingBracket': { backgroundColor: color('accent-soft') },
      '.cm-parameter, .cm-parameter *': { color: color('code-parameter'), fontWeight: '600' },
      '.cm-tooltip': {
        backgroundColor: color('surface'),
        color: color('text'),
        border: '1px solid var(--line-strong)',
        borderRadius: '8px',
        boxShadow: color('shadow-high'),
        overflow: 'hidden',
      },
      '.cm-tooltip-autocomplete > ul': { fontFamily: color('mono'), fontSize: '12.5px' },
      '.cm-tooltip-autocomplete > ul > li[aria-selected]': {
        backgroundColor: color('accent-soft'),
        color: color('text'),
      },
      // Tab accepts the first one unless the user chose another.
      '.cm-tooltip-autocomplete > ul:not(:has([aria-selected])) > li:first-child::after': {
        // Not part of the option's name.
        content: '"Tab" / ""',
        paddingLeft: '24px',
        color: color('faint'),
        fontSize: '11px',
      },
      '.cm-diagnostic-error': { borderLeftColor: color('danger') },
      '.cm-diagnostic-warning': { borderLeftColor: color('warn') },
      // Differences have a faint background, so that the text on it stays readable; changed words are underlined.
      '.cm-insertedLine, &.cm-merge-b .cm-changedLine': {
        backgroundColor: 'color-mix(in srgb, var(--good) 10%, transparent)',
      },
      '.cm-deletedChunk': {
        backgroundColor: 'color-mix(in srgb, var(--danger) 9%, transparent)',
        paddingLeft: '6px',
      },
      '.cm-insertedLine, .cm-deletedLine, .cm-deletedLine del': { textDecoration: 'none' },
      '.cm-changedLine .cm-insertedLine': { backgroundColor: 'transparent' },
      '.cm-changedText, .cm-deletedText': {
        background: 'none !important',
        boxShadow: 'inset 0 -2px var(--good)',
      },
      '.cm-deletedText': { boxShadow: 'inset 0 -2px var(--danger)' },
    }),
  ]
}

const decorator = new MatchDecorator({
  regexp: /@[A-Za-z]\w*/g,
  decoration: Decoration.mark({ class: 'cm-parameter' }),
})

/** Highlights parameters. */
export const parameterMarks = ViewPlugin.define(
  (view) => ({
    decorations: decorator.createDeco(view),
    update(update) {
      this.decorations = decorator.updateDeco(update, this.decorations)
    },
  }),
  { decorations: (plugin) => plugin.decorations },
)
