/** V8 flags for forked processes: the size of the young generation; for workers also how much V8
 *  inlines, that it keeps compiled code, and when and how it collects. */

/** Node flags for a fork with semi-spaces of `min` MiB that grow to `max`. Flags of the operator
 *  win: those of this process come after ours; NODE_OPTIONS would come before, so ours are left out
 *  if it sets the size. V8 resizes the young generation with the load, copying live objects each
 *  time. */
export const heapFlags = (min: number, max: number): readonly string[] => {
  const isSetByOperator = process.env.NODE_OPTIONS?.includes('semi-space-size')
  const flags = [`--min-semi-space-size=${min}`, `--max-semi-space-size=${max}`]
  return [...(isSetByOperator ? [] : flags), ...process.execArgv]
}

/** A request passes through many small functions. By default V8 inlines functions of up to 460
 *  bytes of bytecode, and up to 920 bytes into one function: only some of them. */
const INLINING = ['--max-inlined-bytecode-size=1000', '--max-inlined-bytecode-size-cumulative=2000']
/** Keep the code of requests over pauses. Collections drop bytecode that was not run for a while;
 *  those of V8's memory reducer, after seconds without requests, also drop hidden classes without
 *  objects, and the code that depends on them. `collectWhenIdle` returns the memory instead. */
const KEEP_CODE = ['--no-flush-bytecode', '--no-memory-reducer']
/** By default V8 collects the whole heap whenever buffers have grown by 64 MiB, however few of them
 *  are still in use: with bodies of 1 MB that is one collection for 25 calls. */
const BUFFERS = ['--external-memory-accounted-in-global-limit']
/** Workers of a loaded machine share its cores: further threads for a short collection wait for the
 *  core that its main thread needs. */
const ONE_THREAD = ['--no-parallel-scavenge']
/** Node flags for a worker. Those of the operator come last, and win. */
export const workerFlags = (min: number, max: number): readonly string[] => [
  ...INLINING,
  ...KEEP_CODE,
  ...BUFFERS,
  ...ONE_THREAD,
  ...heapFlags(min, max),
]
