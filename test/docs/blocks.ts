/** The fenced blocks of a page, and its shell blocks as one session. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface Block {
  readonly language: string
  /** The file name that follows the language; empty without one. */
  readonly file: string
  readonly text: string
}
const root = fileURLToPath(new URL('../..', import.meta.url))
/** Commands that run elsewhere: in CI, and in a test of their own. */
export const ELSEWHERE: Readonly<Record<string, string>> = {
  'npm ci': '.ci/run',
  'npm ci --omit=dev': 'test/engine/cli/production-install.test.ts',
  'npm test': '.ci/run',
  'npm run check': '.ci/run',
  'npm run bench': 'test/bench/bench.test.ts',
}

/** `path` is relative to the project. */
export const pageOf = (path: string): string => readFileSync(join(root, path), 'utf8')

export const blocksOf = (path: string): Block[] =>
  [...pageOf(path).matchAll(/^```(\w*) *(\S*)\n([\s\S]*?)^```$/gm)].map(
    ([, language = '', file = '', text = '']) => ({ language, file, text }),
  )

export const blockOf = (path: string, language: string): string =>
  blocksOf(path).find(block => block.language === language)?.text ?? ''

/** The lines of all shell blocks, without `npm start`, which does not end. */
export const sessionOf = (path: string): string =>
  blocksOf(path)
    .filter(({ language }) => language === 'sh')
    .flatMap(({ text }) => text.split('\n'))
    .filter(line => !(line in ELSEWHERE) && line !== 'npm start')
    .join('\n')
