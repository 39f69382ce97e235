/** V8 heap flags for forked processes: the size of the young generation. */

/** Node flags for a fork with semi-spaces of `mebibytes`. Flags of the operator win: those of this
 *  process come after ours; NODE_OPTIONS would come before, so ours are left out where it sets the
 *  size. V8's default young generation starts at one MiB and resizes with the load, copying live
 *  objects each time. */
export const heapFlags = (mebibytes: number): readonly string[] => {
  const isSetByOperator = process.env.NODE_OPTIONS?.includes('semi-space-size')
  const flags = ['min', 'max'].map(end => `--${end}-semi-space-size=${mebibytes}`)
  return [...(isSetByOperator ? [] : flags), ...process.execArgv]
}
