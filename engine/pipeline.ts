/** The onion: composes stages into one function, once per route. */
import { errors } from './errors.ts'
import type { Next } from './plugin.ts'

const fault = errors({
  NEXT_TWICE: [500, 'a stage called `next()` twice', { expose: false }],
})

export type Step<Subject> = (subject: Subject, next: Next) => Promise<void>
export type Run<Subject> = (subject: Subject) => Promise<void>

/** A frame costs one closure and one promise per request. `last` runs innermost. */
export const compose = <Subject>(
  steps: readonly Step<Subject>[],
  last: Run<Subject>,
): Run<Subject> =>
  steps.reduceRight<Run<Subject>>(
    (inner, step) => subject => {
      let called = false
      return step(subject, () => {
        if (called) throw fault('NEXT_TWICE')
        called = true
        const run = inner(subject)
        // A stage that forgets to await it has no reply and is told so; the process must not die of it.
        run.catch(ignore)
        return run
      })
    },
    last,
  )
const ignore = (): void => {}
