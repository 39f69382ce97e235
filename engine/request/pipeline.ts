/** The onion: composes stages into one function, once per route. */
import { errors } from '../errors.ts'
import type { Next } from '../plugin.ts'

const fault = errors({
  NEXT_TWICE: [500, 'a stage called `next()` twice', { expose: false }],
})

export type Step<Subject> = (subject: Subject, next: Next) => Promise<void>
export type Run<Subject> = (subject: Subject) => Promise<void>

/** A frame costs one closure, and no promise where a stage returns what `next()` returned: so whoever has nothing to do on
 *  the way up is written that way, and is hardly there. `last` runs innermost. Throws nothing: it rejects. */
export const compose = <Subject>(
  steps: readonly Step<Subject>[],
  last: Run<Subject>,
): Run<Subject> =>
  steps.reduceRight<Run<Subject>>(
    (inner, step) => subject => {
      let run: Promise<void> | undefined
      let returned = false
      const next = (): Promise<void> => {
        if (run) throw fault('NEXT_TWICE')
        run = settled(inner, subject, next)
        if (returned) run.catch(ignore)
        return run
      }
      const whole = settled(step, subject, next)
      returned = true
      // A stage that forgets to await it has no reply and is told so; the process must not die of it.
      if (run && run !== whole) (run as Promise<void>).catch(ignore)
      return whole
    },
    last,
  )
const ignore = (): void => {}
/** A stage that is no async function may throw before it has a promise, or never have one. */
const settled = <Subject>(step: Step<Subject>, subject: Subject, next: Next): Promise<void> => {
  try {
    return step(subject, next) ?? Promise.resolve()
  } catch (thrown) {
    return Promise.reject(thrown)
  }
}
