/** Composes stages into one function, once per route. */
import { errors } from '../errors.ts'
import type { Fault, Next } from '../plugin.ts'

const fault = errors({
  NEXT_TWICE: [500, 'a stage called `next()` twice', { expose: false }],
})

/** `handle` or `forward` of one stage. */
export type Handler<Subject> = (subject: Subject, next: Next) => Promise<void>
export type Run<Subject> = (subject: Subject) => Promise<void>

/** Ends stages that never settle. */
export interface Guard<Subject> {
  /** Returns a promise that can be rejected while the stage at index `at` still runs. */
  wait(subject: Subject, stage: Promise<void>, at: number): Promise<void>
  /** Why no further stage may begin. */
  closeReason(subject: Subject): Fault | undefined
}

/** `last` runs innermost. Never throws: it rejects. A stage costs one closure, and no promise where
 *  it returns what `next()` returned: a stage with nothing to do after `next()` is written that
 *  way. `guard` guards stages that have not called `next()` by the time they first wait. */
export const compose = <Subject>(
  steps: readonly Handler<Subject>[],
  last: Run<Subject>,
  guard?: Guard<Subject>,
): Run<Subject> =>
  steps.reduceRight<Run<Subject>>(
    (inner, step, at) => subject => {
      let run: Promise<void> | undefined
      let hasReturned = false
      const next = (): Promise<void> => {
        if (run) throw fault('NEXT_TWICE')
        const closeReason = guard?.closeReason(subject)
        if (closeReason) throw closeReason
        run = callStage(inner, subject, next)
        if (hasReturned) run.catch(ignore)
        return run
      }
      const stage = callStage(step, subject, next)
      hasReturned = true
      // Without `await next()`: a rejection must not end the process.
      if (run && run !== stage) (run as Promise<void>).catch(ignore)
      return run || !guard ? stage : guard.wait(subject, stage, at)
    },
    last,
  )
const ignore = (): void => {}
/** A stage that is not an async function may throw, or return no promise. */
const callStage = <Subject>(run: Handler<Subject>, subject: Subject, next: Next): Promise<void> => {
  try {
    return run(subject, next) ?? Promise.resolve()
  } catch (error) {
    return Promise.reject(error)
  }
}
