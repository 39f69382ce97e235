/** docs/cache.md, docs/rules.md, docs/journal.md and docs/guards.md: the files and commands under
 *  "Try it" work in order, in a fresh clone with a running gateway. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { LONG } from '../../helpers/run-settings.ts'
import { blocksOf, sessionOf } from '../blocks.ts'
import { clone } from '../clone.ts'

/** Pages, and texts of the output in their order. */
const PAGES: Readonly<Record<string, readonly RegExp[]>> = {
  'docs/cache.md': [
    /x-tollgate-cache: miss/,
    /x-tollgate-cache: hit; age=\d+; kind=exact/,
    /x-tollgate-charge: 0\.000072/,
    /x-tollgate-cache: miss/,
    /\ncached +0\.3333 +hit +1 /,
    /\nremoved\n1\n/,
  ],
  'docs/rules.md': [
    /answering as gpt-4\.1;/,
    /x-tollgate-rule: trial/,
    /answering as gpt-4\.1-mini;/,
    /"rule":"trial","holds":true/,
    /\nruled +0\.5 +trial +1 /,
    /\nruled +gp\/gpt-5 +2 +0 +0 /,
  ],
  'docs/journal.md': [
    /"content": "Write to \[EMAIL\]"/,
    /answering as gpt-4\.1;.*You wrote: "Write to \[EMAIL\]"/,
    /answering as claude-sonnet-4-5;/,
    /No account was charged/,
  ],
  'docs/guards.md': [
    /x-tollgate-guard: pii=masked\(1\)/,
    /You wrote: \\"Write to ann@example\.com\\"/,
    /400 Bad Request/,
    /"content_filter"/,
    /\ngp-4\.1 +\S+ +words blocked +1 /,
  ],
}

t.test(
  'pages: their examples work in a fresh clone',
  { skip: !LONG && 'CI and the long form run them' },
  async t => {
    const copy = await clone(t)
    await copy.start()
    for (const [page, texts] of Object.entries(PAGES)) {
      for (const { file, text } of blocksOf(page).filter(({ file }) => file !== '')) {
        mkdirSync(join(copy.folder, dirname(file)), { recursive: true })
        writeFileSync(join(copy.folder, file), text)
      }
      let rest = await copy.shell(sessionOf(page))
      for (const text of texts) {
        t.match(rest, text, page)
        rest = rest.slice(rest.search(text) + 1)
      }
    }
  },
)
