/** The onion: composes stages into one function, once per route. */
import { errors } from '../errors.ts'
import type { Fault, Next } from '../plugin.ts'

const fault = errors({
  NEXT_TWICE: [500, 'a stage called `next()` twice', { expose: false }],
})

export type Step<Subject> = (subject: Subject, next: Next) => Promise<void>
export type Run<Subject> = (subject: Subject) => Promise<void>

/** Ends stages that never settle. */
export interface Guard<Subject> {
  /** A promise that can be rejected while the stage `at` (in the order of the steps) still runs. */
  wait(subject: Subject, stage: Promise<void>, at: number): Promise<void>
  /** Why no further stage may begin. */
  closed(subject: Subject): Fault | undefined
}

/** A frame costs one closure, and no promise where a stage returns what `next()` returned: so whoever has nothing to do on
 *  the way up is written that way, and is hardly there. `last` runs innermost. Throws nothing: it rejects.
 *  `guard`: of stages that have not called `next()` by the time they first wait. */
export const compose = <Subject>(
  steps: readonly Step<Subject>[],
  last: Run<Subject>,
  guard?: Guard<Subject>,
): Run<Subject> =>
  steps.reduceRight<Run<Subject>>(
    (inner, step, at) => subject => {
      let run: Promise<void> | undefined
      let returned = false
      const next = (): Promise<void> => {
        if (run) throw fault('NEXT_TWICE')
        const closed = guard?.closed(subject)
        if (closed) throw closed
        run = settled(inner, subject, next)
        if (returned) run.catch(ignore)
        return run
      }
      const whole = settled(step, subject, next)
      returned = true
      // A stage that forgets to await it has no reply and is told so; the process must not die of it.
      if (run && run !== whole) (run as Promise<void>).catch(ignore)
      return run || !guard ? whole : guard.wait(subject, whole, at)
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
