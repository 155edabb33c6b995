// From a cell of a sweep to its simulation, or its plan: what to post, and where.

import { get, Problem, post } from "../service/api.js";

/** @import { SweepCell, SweepOut } from "interlace-api" */

/** @typedef {Record<string, any>} SweepRequest as it was posted, of either form of a graph */

/**
 * The body that makes what a policy did in a cell: { path, body }, of the sweep's own request.
 *
 * @param {SweepRequest} request
 * @param {SweepOut} sweep
 * @param {SweepCell} cell
 * @param {string} label
 */
export function requestOf(request, sweep, cell, label) {
  const source =
    request.graph_id === undefined || request.graph_id === null
      ? { graph: request.graph }
      : { graph_id: request.graph_id };
  const cluster = { ...request.cluster };
  for (const [axis, field] of [
    ["workers", "workers"],
    ["bandwidths_gbps", "bandwidth_gbps"],
    ["startups_us", "startup_us"],
  ]) {
    if (request[axis]?.length) cluster[field] = cell[field];
  }
  const policy = sweep.policies.find((one) => one.label === label);
  const { barrier, seed, time_limit_s, launch_tolerance } = sweep.request;
  if (policy.policy === "plan") {
    const baselines = sweep.policies
      .filter((one) => one.policy !== "plan")
      .map(({ policy: name, barrier: own, parameters }) => ({
        policy: name,
        barrier: own && !barrier,
        ...parameters,
      }));
    return {
      path: "/v1/plans",
      body: { ...source, cluster, options: { barrier, seed, time_limit_s, launch_tolerance, baselines } },
    };
  }
  return {
    path: "/v1/simulations",
    body: {
      ...source,
      cluster,
      barrier: policy.barrier,
      policy: { policy: policy.policy, ...policy.parameters },
    },
  };
}

/**
 * Post it, and go to its page.
 *
 * @param {SweepOut} sweep
 * @param {SweepCell} cell
 * @param {string | null} label
 */
export async function open(sweep, cell, label) {
  const strange = Object.keys(sweep.axes).filter(
    (axis) => !["workers", "bandwidths_gbps", "startups_us"].includes(axis) && sweep.axes[axis].length > 1,
  );
  if (strange.length)
    throw new Problem(null, { detail: `This page cannot open a cell of a sweep by ${strange.join(", ")}.` });
  if (label === null || cell.iteration_time_us[label] === null)
    throw new Problem(null, { detail: "No policy is defined in this cell." });
  const request = await get(`/v1/sweeps/${sweep.id}/request`);
  const { path, body } = requestOf(request, sweep, cell, label);
  const made = await post(path, body, { more: { Prefer: "wait=0" } });
  location.assign((made.location ?? `${path}/${made.body.id}`).replace(/^.*\/v1\//, "/"));
}
